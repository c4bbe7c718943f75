"""The version, in a module without imports so that the build can read it."""

__version__ = "0.2.0"
