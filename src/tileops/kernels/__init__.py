"""Kernel interfaces and their implementations, one folder per family.

TileLang itself appears only in the ``programs`` folders, inside the functions that build.
"""
