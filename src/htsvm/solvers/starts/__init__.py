"""Starts: from which points a fit of a truncated loss goes down, and how they are found."""

from htsvm.solvers.starts.binary_terrain import BinaryTerrain
from htsvm.solvers.starts.choice import searches
from htsvm.solvers.starts.comparing import first_descent
from htsvm.solvers.starts.multiclass_terrain import MulticlassTerrain
from htsvm.solvers.starts.portfolio import (
    ALL,
    NAMES,
    Convex,
    checked_names,
    chosen,
)
from htsvm.solvers.starts.searching import SearchStart, search
from htsvm.solvers.starts.terrain import Terrain

__all__ = [
    "ALL",
    "NAMES",
    "BinaryTerrain",
    "Convex",
    "MulticlassTerrain",
    "SearchStart",
    "Terrain",
    "checked_names",
    "chosen",
    "first_descent",
    "search",
    "searches",
]
