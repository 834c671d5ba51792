"""What tools/compare is made of."""
