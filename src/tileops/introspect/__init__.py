"""Asking about selection: what a call selects and why. Values only; the command line renders."""
