"""The default solver for several classes in one problem."""
