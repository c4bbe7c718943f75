"""Starts: from which points a fit of a truncated loss goes down, and how they are found."""

from htsvm.solvers.starts.choice import best_start, searches
from htsvm.solvers.starts.portfolio import ALL, NAMES, SearchStart, chosen, search
from htsvm.solvers.starts.terrain import BinaryTerrain, MulticlassTerrain, Terrain

__all__ = [
    "ALL",
    "NAMES",
    "BinaryTerrain",
    "MulticlassTerrain",
    "SearchStart",
    "Terrain",
    "best_start",
    "chosen",
    "search",
    "searches",
]
