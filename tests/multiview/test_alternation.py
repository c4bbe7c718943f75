"""The alternation of classifiers and view weights, on a problem with known solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from htsvm.multiview import alternation
from htsvm.multiview.alternation import Alternation, Classifiers

SMOOTHNESS = 0.6


@dataclass
class Ridges(Classifiers[np.ndarray]):
    """One number w per view, which minimises theta w²/2 + c (1 - w)²/2."""

    c: np.ndarray

    def solve(self, weights, before, gain):
        return self.c / (self.c + weights)

    def costs(self, point):
        return point**2

    def objective(self, point, weights):
        return float(0.5 * weights @ point**2 + 0.5 * self.c @ (1.0 - point) ** 2)


def alternated(c, **options):
    names = list(range(len(c)))
    return Alternation(Ridges(np.array(c)), SMOOTHNESS, None, names, 1e-9, 200, **options).run()


def test_two_weights_are_the_best_of_all() -> None:
    c = np.array([0.3, 0.5])

    def total(first):
        weights = np.array([first, 1.0 - first])
        least = 0.5 * np.sum(c * weights / (c + weights))
        return least + 0.5 * SMOOTHNESS * float(weights @ weights)

    best = minimize_scalar(total, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-12})
    ended = alternated(c)
    assert 0.01 < best.x < 0.99
    assert ended.objective == pytest.approx(best.fun, rel=1e-10)
    assert ended.weights[0] == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize("c", [[0.3, 0.5], [0.4, 0.5, 0.8], [0.5, 0.5, 0.6, 0.9]])
def test_longer_ways_end_at_the_same_weights_in_fewer_rounds(c) -> None:
    ended = alternated(c)
    objectives = np.array(ended.history["objective"])
    assert np.all(np.diff(objectives) <= 1e-14)
    assert ended.weights.sum() == pytest.approx(1.0)
    plain = alternated(c, longest_step=1.0)
    np.testing.assert_allclose(ended.weights, plain.weights, atol=1e-7)
    assert len(objectives) < len(plain.history["objective"])


def test_a_view_loses_its_weight_only_where_the_best_weights_say_so() -> None:
    way = alternation._Way(alternation.LONGEST_STEP)
    first = way.beyond(np.array([0.5, 0.5]), np.array([0.7, 0.3]))
    np.testing.assert_allclose(first, [0.7, 0.3])
    # Nothing was gained on the way, so the next step is as long as may be, but not to zero.
    second = way.beyond(first, np.array([0.95, 0.05]))
    np.testing.assert_allclose(second, [0.975, 0.025])
    lost = np.array([1.0, 0.0])
    np.testing.assert_array_equal(way.beyond(second, lost), lost)


def test_a_long_step_that_leads_up_is_taken_back(monkeypatch) -> None:
    asked = []

    class Counted(Ridges):
        def solve(self, weights, before, gain):
            asked.append(weights)
            return super().solve(weights, before, gain)

    def too_far(way, weights, wanted):
        way.step, way.start, way.last = 4.0, weights, 0.3 * (wanted - weights)
        return weights + way.step * 3.0 * way.last

    c = [0.3, 0.5]
    names, tol = [0, 1], 1e-6
    monkeypatch.setattr(alternation._Way, "beyond", too_far)
    ended = Alternation(Counted(np.array(c)), SMOOTHNESS, None, names, tol, 200).run()
    rounds = ended.history["objective"]
    assert np.all(np.diff(rounds) <= 1e-14)
    # Each round but the first was solved twice.
    assert len(asked) == 2 * len(rounds) - 1
    np.testing.assert_allclose(ended.weights, alternated(c).weights, atol=1e-5)


def test_an_alpha_to_which_a_view_loses_its_weight_is_given_up_at_once() -> None:
    asked = []

    class Losing(Ridges):
        """The more weight the first view has, the cheaper it is, unless alpha is large."""

        def solve(self, weights, before, gain):
            asked.append(weights)
            return weights

        def costs(self, point):
            return np.array([1.0, 1.01]) if point[0] <= 0.5 else np.array([0.0, 5.0])

        def objective(self, point, weights):
            return 0.0

    names = [0, 1]
    ended = Alternation(Losing(np.ones(2)), "auto", None, names, 1e-6, 50, begin_again=True).run()
    assert ended.smoothness > 2.01
    assert ended.weights.min() > 0.0
    assert not any(np.any(weights == 0.0) for weights in asked)
