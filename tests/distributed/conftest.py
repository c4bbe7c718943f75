"""What tests of fits on Dask have in common."""

import pytest

from htsvm.solvers.newton import convex, valley


@pytest.fixture(autouse=True)
def _same_steps(monkeypatch):
    """Rows on workers take no Newton steps on the loss itself, and convex losses no short way.

    Without these both do the same.
    """
    monkeypatch.setattr(valley, "suits", lambda problem: False)
    monkeypatch.setattr(convex, "suits", lambda problem: False)
