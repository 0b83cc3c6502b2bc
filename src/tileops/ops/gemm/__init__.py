"""Matrix product ops."""
