"""Warnings of this package."""


class IgnoredClassWarning(UserWarning):
    """A fit ignores more than half of the samples of a class as outliers."""
