"""The TileLang programs of the matrix products. TileLang is imported by a build, never before."""
