"""The comparison of accuracies: its bars on made rows, its cells, its thresholds."""

import numpy as np
import pytest
from benchmarks.accuracy import OUR_COLUMN, bars, means, tables
from benchmarks.accuracy_data import CLEAN, NOISES, Cell, Data, cells
from benchmarks.accuracy_methods import CHOICES, OURS, RIVALS, best_threshold, tuned


def rows_of(group, mine, theirs, name="a9a", noise=NOISES[1], draw=0):
    """One cell in which every rival has the same accuracy."""
    named = {"group": group, "set": name, "noise": noise, "draw": draw, "rows": 100}
    found = [{**named, "method": OURS, "choice": "our rule", "accuracy": mine}]
    for rival in RIVALS:
        found += [
            {**named, "method": rival, "choice": choice, "accuracy": theirs} for choice in CHOICES
        ]
    return found


def test_bars_compare_with_the_best_rival():
    ahead = bars(rows_of("large", 83.0, 81.5))
    assert [bar.met for bar in ahead] == [True, True, None, None, None, None]
    close = bars(rows_of("large", 82.0, 81.5))
    assert [bar.met for bar in close[:2]] == [False, True]
    behind = bars(rows_of("large", 80.0, 81.5) + rows_of("large", 90.0, 81.5, "w8a"))
    assert [bar.met for bar in behind[:2]] == [True, False]
    assert "a9a" in behind[1].figure
    human = bars(rows_of("several classes", 58.0, 58.5, "CIFAR-10N", "worse"))
    assert [bar.met for bar in human[4:]] == [False, False]


def test_clean_labels_do_not_count_as_noisy():
    rows = rows_of("large", 83.0, 81.5) + rows_of("large", 70.0, 80.0, noise=CLEAN)
    assert bars(rows)[0].met


def test_means_are_over_draws():
    rows = rows_of("small", 80.0, 70.0) + rows_of("small", 90.0, 70.0, draw=1)
    ((_, found),) = means(rows, "small").items()
    assert found[OUR_COLUMN] == pytest.approx(85.0)
    assert "85.00 ± 5.00" in tables(rows)


def test_cells_are_told_apart_and_the_first_draws_come_first():
    found = cells(2, quick=False)
    assert len({cell.key for cell in found}) == len(found)
    assert [cell.draw for cell in found] == sorted(cell.draw for cell in found)


def test_best_threshold_is_that_of_brute_force():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 50)
    values = rng.normal(size=50) + codes + 1.0
    found = np.mean((values > best_threshold(values, codes)) == codes)
    assert found == max(np.mean((values > t) == codes) for t in [-9.0, *values])


def test_rivals_choose_in_three_ways():
    data = Cell("several classes", "digits", "40 % to the next class", 0).load(None)
    keep = np.flatnonzero(data.y < 2)[:120]
    true = np.minimum(data.y_test[:200], 1)
    small = Data(data.X[keep], data.y[keep], data.X_test[:200], true)
    found = tuned("LogisticRegression", small, 0)
    assert [row["choice"] for row in found] == list(CHOICES)
    assert all(0.0 <= row["accuracy"] <= 100.0 for row in found)
