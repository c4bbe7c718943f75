"""Starts: from which points a fit of a truncated loss goes down, and how they are found."""

from htsvm.solvers.starts.binary_terrain import BinaryTerrain
from htsvm.solvers.starts.choice import first_descent, searches
from htsvm.solvers.starts.portfolio import (
    ALL,
    NAMES,
    Convex,
    SearchStart,
    checked_names,
    chosen,
    search,
)
from htsvm.solvers.starts.terrain import Terrain

__all__ = [
    "ALL",
    "NAMES",
    "BinaryTerrain",
    "Convex",
    "SearchStart",
    "Terrain",
    "checked_names",
    "chosen",
    "first_descent",
    "search",
    "searches",
]
