"""Solvers of the comparison methods."""
