"""Solvers for two or more views whose decisions are drawn together."""
