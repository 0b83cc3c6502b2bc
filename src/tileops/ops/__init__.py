"""The operators, one folder per family, and the machinery they share."""
