"""Baselines for one view: one file each."""
