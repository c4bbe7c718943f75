"""The default solver for two classes."""
