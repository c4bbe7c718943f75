"""The wave and the bounded LINEX loss against their definitions, derivatives and bounds."""

import numpy as np
import pytest

from htsvm_paper.losses import BoundedLinex, Wave

LOSSES = [
    Wave(0.0, 1.0), Wave(0.5, 0.2), Wave(2.0, 3.0),
    BoundedLinex(1.0, 1.0, 0.5), BoundedLinex(-2.0, 0.3, 1.0), BoundedLinex(0.1, 5.0, 2.0),
]  # fmt: skip
U = np.concatenate([np.linspace(0.0, 6.0, 61), [20.0]])


def signed(loss, t):
    """Return the bounded LINEX loss as it is defined."""
    return (1.0 - 1.0 / (1.0 + loss.lam * loss.b * (np.exp(loss.a * t) - loss.a * t - 1.0))) / (
        loss.lam
    )


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_values_are_those_of_the_definition(loss, y):
    if isinstance(loss, Wave):
        expected = (1.0 - 1.0 / (1.0 + loss.lam * U**2 * np.exp(loss.a * U))) / loss.lam
    else:
        expected = signed(loss, y * U)
    np.testing.assert_allclose(loss(U, y)[0], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_derivatives_are_those_of_the_values(loss, y):
    u, h = U[1:], 1e-5
    slope = (loss(u + h, y)[0] - loss(u - h, y)[0]) / (2 * h)
    np.testing.assert_allclose(loss(u, y)[1], slope, atol=1e-7)
    curvature = (loss(u + h, y)[1] - loss(u - h, y)[1]) / (2 * h)
    np.testing.assert_allclose(loss(u, y)[2], curvature, atol=1e-6)
    assert loss(np.zeros(1), y)[1] == 0.0


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_bounded_and_rising_without_overflow(loss, y):
    u = np.logspace(-3, 6, 200)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, slope, curvature = loss(u, y)
    assert np.all(value <= (1.0 + 1e-12) / loss.lam)
    assert np.all(np.diff(value) >= -1e-12)
    assert np.all(slope >= 0.0)
    assert np.all(np.isfinite(curvature))


def test_limits():
    u = np.linspace(0.0, 3.0, 31)
    np.testing.assert_allclose(Wave(0.0, 1e-12)(u, 1.0)[0], u**2, rtol=1e-9)
    np.testing.assert_allclose(Wave(0.7, 1e-12)(u, 1.0)[0], u**2 * np.exp(0.7 * u), rtol=1e-9)
    linex = np.exp(0.5 * u) - 0.5 * u - 1.0
    np.testing.assert_allclose(
        BoundedLinex(0.5, 2.0, 1e-10)(u, 1.0)[0], 2.0 * linex, rtol=1e-7, atol=1e-12
    )
    # a² b = 2 for a -> 0: the squared violation for either class.
    for y in (-1.0, 1.0):
        near = BoundedLinex(1e-3, 2e6, 1e-12)(u, y)[0]
        np.testing.assert_allclose(near, u**2, rtol=2e-3, atol=1e-6)
