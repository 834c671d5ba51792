"""What tools/vendors is made of."""
