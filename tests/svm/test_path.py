"""Paths over C."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from htsvm import HTSVC, ht_path


def data(m=300, seed=0):
    return make_classification(m, 8, n_informative=5, flip_y=0.15, random_state=seed)


@pytest.mark.parametrize("cap", [1.0, 2.0, np.inf])
def test_path_solves_what_single_fits_solve(cap):
    X, y = data()
    Cs = [4.0, 0.25, 1.0]
    path = ht_path(X, y, Cs=Cs, cap=cap, tol=1e-5)
    assert path.Cs.tolist() == Cs
    assert path.coef.shape == (3, 1, 8)
    for i, C in enumerate(Cs):
        single = HTSVC(C=C, cap=cap, tol=1e-5).fit(X, y)
        assert path.certificates[i][0].certified
        assert path.objective[i, 0] <= single.objective_[0] * (1.05 if cap < np.inf else 1.0001)
        q = 1.0 - np.where(y == 1, 1, -1) * (X @ path.coef[i, 0] + path.intercept[i, 0])
        loss = HTSVC(cap=cap)._loss()
        value = 0.5 * np.sum(path.coef[i, 0] ** 2) + C * loss.value(q).sum()
        assert path.objective[i, 0] == pytest.approx(value)


def test_no_solution_on_the_path_is_beaten_by_a_neighbour():
    X, y = data(seed=3)
    path = ht_path(X, y, Cs=9)
    energy = 0.5 * np.sum(path.coef[:, 0] ** 2, axis=1)
    loss = (path.objective[:, 0] - energy) / path.Cs
    for i, C in enumerate(path.Cs):
        assert path.objective[i, 0] <= (energy + C * loss).min() * 1.002


def test_objectives_are_those_of_the_certificates():
    """One evaluation: they differed in the last digits."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, y = rng.integers(-3, 4, (9, 1)) * 37.1, np.arange(9) % 2
        path = ht_path(x, y, Cs=[3e-8, 1e-7, 5e-7])
        stated = [[c.objective for c in row] for row in path.certificates]
        np.testing.assert_array_equal(path.objective, stated)


def test_path_takes_weights_and_classes():
    X, y = load_iris(return_X_y=True)
    path = ht_path(X, y, Cs=2, class_weight="balanced")
    assert path.coef.shape == (2, 3, 4)
    X, y = data(80)
    k = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = ht_path(X, y, Cs=[1.0], sample_weight=k, tol=1e-8)
    repeated = ht_path(np.repeat(X, k, axis=0), np.repeat(y, k), Cs=[1.0], tol=1e-8)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-5)


@pytest.mark.parametrize("Cs", [0, -1.0, [1.0, -1.0], [], [np.inf], 2.5])
def test_bad_grids_are_named(Cs):
    X, y = data(60)
    with pytest.raises(ValueError, match="Cs"):
        ht_path(X, y, Cs=Cs)
