"""The TileLang programs of the norm kernels. TileLang is imported by a build, never before."""
