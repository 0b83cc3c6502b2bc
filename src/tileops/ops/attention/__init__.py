"""Attention ops."""
