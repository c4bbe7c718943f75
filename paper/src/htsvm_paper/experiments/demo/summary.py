"""From single fits to the rows that are printed, on the terminal and in the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from htsvm_paper.experiments.demo.data import BREAST_CANCER, DIGITS, INCOME, ONE_SIDED
from htsvm_paper.experiments.demo.experiment import Record, Results
from htsvm_paper.experiments.demo.methods import METHODS

# Accuracies are printed in percent with one decimal; those that look alike count as equal.
DECIMALS = 3


@dataclass(frozen=True)
class Row:
    """One method in one panel: a value per rate of noise.

    Attributes
    ----------
    method : str
        The name of the method.
    mean, spread : tuple of float
        Mean and standard deviation of the test accuracy over the repetitions.
    best : tuple of bool
        Whether no other method has a higher mean.
    support : tuple of float
        Mean number of support vectors.
    seconds : float
        Median CPU time of choosing and fitting, over all rates.
    penalty : float
        Median of the chosen C, over all rates.
    """

    method: str
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    best: tuple[bool, ...]
    support: tuple[float, ...]
    seconds: float
    penalty: float


@dataclass(frozen=True)
class Panel:
    """All methods on one data set under one kind of noise.

    Attributes
    ----------
    dataset, noise : str
        Which.
    title : str
        Both in words.
    rates : tuple of float
        Shares of flipped labels.
    rows : tuple of Row
        One per method.
    flipped_ignored, clean_ignored : tuple of float
        The share of the wrong and of the right labels that HTSVCCV ignored, per rate.
    """

    dataset: str
    noise: str
    title: str
    rates: tuple[float, ...]
    rows: tuple[Row, ...]
    flipped_ignored: tuple[float, ...]
    clean_ignored: tuple[float, ...]


def panels(results: Results) -> list[Panel]:
    """Return the panels of a finished experiment."""
    settings = results.settings
    return [
        _panel(results, dataset, noise)
        for dataset in settings.datasets
        for noise in settings.noises
    ]


def gain_in_words(shown: list[Panel]) -> str:
    """Return what was gained over the best rival on wrong labels, and what it cost."""
    means = _noisy_means(shown)
    ours = METHODS[0].name
    rival = max((name for name in means if name != ours), key=lambda name: means[name])
    cost = {
        name: float(
            np.median([r.seconds for panel in shown for r in panel.rows if r.method == name])
        )
        for name in (ours, rival)
    }
    points = 100.0 * (means[ours] - means[rival])
    return (
        f"With wrong labels {ours}() has {means[ours]:.1%} of the test right on average, the best "
        f"rival, {rival} with its C chosen by cross-validation, {means[rival]:.1%}: "
        f"{abs(points):.1f} points {'more' if points >= 0.0 else 'less'}. It costs "
        f"{cost[ours]:.1f} s of CPU time per data set, {rival} {cost[rival]:.1f} s."
    )


def _noisy_means(shown: list[Panel]) -> dict[str, float]:
    """Return the mean accuracy of each method over all settings with wrong labels."""
    means: dict[str, list[float]] = {method.name: [] for method in METHODS}
    for panel in shown:
        for row in panel.rows:
            means[row.method] += [
                mean for mean, rate in zip(row.mean, panel.rates, strict=True) if rate > 0.0
            ]
    return {name: float(np.mean(values)) for name, values in means.items()}


def wins(shown: list[Panel]) -> tuple[Counter[str], int]:
    """Count in how many settings each method is best (ties count for all), and the settings.

    The setting without flipped labels is the same under every kind of noise and counts once.
    """
    count: Counter[str] = Counter({method.name: 0 for method in METHODS})
    seen = set()
    for panel in shown:
        for i, rate in enumerate(panel.rates):
            key = (panel.dataset, rate, panel.noise if rate > 0.0 else "")
            if key in seen:
                continue
            seen.add(key)
            count.update(row.method for row in panel.rows if row.best[i])
    return count, len(seen)


def wins_in_words(shown: list[Panel]) -> str:
    """Return a sentence on who was best how often."""
    count, total = wins(shown)
    parts = [f"{name} in {k}" for name, k in count.most_common()]
    return (
        f"Highest mean test accuracy, of {total} settings (ties count for each): "
        + ", ".join(parts)
        + "."
    )


def means_in_words(shown: list[Panel]) -> str:
    """Return a sentence on the mean accuracy over all settings with wrong labels."""
    means = _noisy_means(shown)
    ranked = sorted(means, key=lambda name: -means[name])
    parts = [f"{name} {means[name]:.1%}" for name in ranked]
    return "Mean test accuracy over the settings with wrong labels: " + ", ".join(parts) + "."


def complaints_in_words(results: Results) -> str:
    """Return a sentence on the fits that gave a warning."""
    if not results.complaints:
        return "No fit with the chosen C gave a warning."
    parts = [f"{name} {k} × {warning}" for (name, warning), k in sorted(results.complaints.items())]
    return (
        "Warnings of the fits with the chosen C: "
        + ", ".join(parts)
        + ". (IgnoredClassWarning: more than half of a class was ignored; ConvergenceWarning: the "
        "limit on iterations was reached.)"
    )


def noise_in_words(dataset: str, noise: str) -> str:
    """Return which labels are flipped."""
    if noise != ONE_SIDED:
        return "any label may be wrong"
    if dataset == DIGITS:
        return "digits called the next one"
    if dataset == INCOME:
        return "high incomes called low"
    if dataset == BREAST_CANCER:
        return "malignant called benign"
    return "class 1 called class 0"


def _panel(results: Results, dataset: str, noise: str) -> Panel:
    rates = results.settings.rates
    found = {m.name: [results.select(dataset, noise, m.name, r) for r in rates] for m in METHODS}
    means = {name: _means(cells, "accuracy") for name, cells in found.items()}
    rounded = {name: np.round(mean, DECIMALS) for name, mean in means.items()}
    top = np.max(list(rounded.values()), axis=0)
    rows = []
    for name, cells in found.items():
        together = [record for cell in cells for record in cell]
        rows.append(
            Row(
                method=name,
                mean=means[name],
                spread=tuple(float(np.std([r.accuracy for r in cell])) for cell in cells),
                best=tuple(bool(b) for b in rounded[name] == top),
                support=_means(cells, "support"),
                seconds=float(np.median([r.seconds for r in together])),
                penalty=float(np.median([r.penalty for r in together])),
            )
        )
    ours = found[METHODS[0].name]
    return Panel(
        dataset=dataset,
        noise=noise,
        title=f"{dataset[0].upper()}{dataset[1:]}, {noise_in_words(dataset, noise)}",
        rates=rates,
        rows=tuple(rows),
        flipped_ignored=_means(ours, "flipped_ignored"),
        clean_ignored=_means(ours, "clean_ignored"),
    )


def _means(cells: list[list[Record]], name: str) -> tuple[float, ...]:
    """Return the mean of an attribute per rate."""
    return tuple(float(np.mean([getattr(record, name) for record in cell])) for cell in cells)
