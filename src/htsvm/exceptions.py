"""Warnings of this package."""


class IgnoredClassWarning(UserWarning):
    """A fit ignores more than half of the samples of a class as outliers."""


class DroppedViewWarning(UserWarning):
    """A multi-view fit gives some view the weight zero."""
