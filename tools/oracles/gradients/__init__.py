"""What tools/oracles/gradient is made of."""
