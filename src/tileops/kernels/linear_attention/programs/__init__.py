"""The TileLang programs of linear attention. TileLang is imported by a build, never before."""
