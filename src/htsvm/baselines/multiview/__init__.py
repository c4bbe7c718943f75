"""Baselines for several views: one file each."""
