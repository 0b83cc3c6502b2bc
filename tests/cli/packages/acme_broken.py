"""A backend that cannot be imported."""

raise ImportError("acme needs libacme.so")
