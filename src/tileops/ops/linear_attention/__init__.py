"""Linear attention ops."""
