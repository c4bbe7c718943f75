"""The figures of the report, as SVG that takes its ink from the page around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from htsvm_paper.experiments.demo.data import (
    BREAST_CANCER,
    GAUSSIANS,
    ONE_SIDED,
    SYMMETRIC,
    Split,
    load,
    with_noise,
)
from htsvm_paper.experiments.demo.summary import Panel
from htsvm_paper.svg import INK, drawing
from sklearn.datasets import make_moons
from sklearn.svm import SVC, LinearSVC

from htsvm import HTSVC, KernelHTSVC
from htsvm.datasets import BAYES_ACCURACY, flip_labels
from htsvm.plotting import plot_boundary, plot_history, plot_losses

# HTSVC first and strongest, then its rivals; told apart without colour by their markers.
LOOKS = (
    {"color": "#d55e00", "marker": "o", "lw": 2.4, "zorder": 5},
    {"color": "#0072b2", "marker": "s", "lw": 1.4},
    {"color": "#009e73", "marker": "^", "lw": 1.4},
    {"color": "#cc79a7", "marker": "D", "lw": 1.4},
    {"color": "#8c8c8c", "marker": "v", "lw": 1.4},
)
# The noise of the fits that are shown singly.
SHOWN_RATE = 0.3
# The two moons: samples to train and to test on, and the width of the kernel.
MOONS, MOONS_TEST, MOONS_GAMMA = 400, 4000, 3.0


@dataclass(frozen=True)
class SingleFit:
    """One fit, shown in detail.

    Attributes
    ----------
    model : object
        The fitted classifier.
    split : Split
        What it was fitted to.
    """

    model: Any
    split: Split


def fit_for_convergence(seed: int) -> SingleFit:
    """Fit HTSVC to noisy breast cancer data, whose convergence and certificate are shown."""
    split = with_noise(load(BREAST_CANCER, seed), SYMMETRIC, SHOWN_RATE, seed + 1)
    return SingleFit(HTSVC(random_state=seed).fit(split.X, split.y), split)


def fits_for_boundaries(seed: int) -> list[SingleFit]:
    """Fit HTSVC and LinearSVC to the plane data, where one class has wrong labels."""
    split = with_noise(load(GAUSSIANS, seed), ONE_SIDED, SHOWN_RATE, seed + 1)
    models = [HTSVC(random_state=seed), LinearSVC(random_state=seed)]
    return [SingleFit(model.fit(split.X, split.y), split) for model in models]


def accuracy_figure(panel: Panel) -> str:
    """Return the curves of test accuracy under growing noise, with bands of one deviation."""
    with drawing(4.0) as (ax, finish):
        rates = 100.0 * np.array(panel.rates)
        for row, look in zip(panel.rows, LOOKS, strict=True):
            mean, spread = 100.0 * np.array(row.mean), 100.0 * np.array(row.spread)
            ax.fill_between(
                rates, mean - spread, mean + spread, color=look["color"], alpha=0.12, lw=0
            )
            ax.plot(rates, mean, ms=5, label=row.method, **look)
        if panel.dataset == GAUSSIANS:
            ax.axhline(
                100.0 * BAYES_ACCURACY, color=INK, lw=0.9, ls=":", label="best possible (Bayes)"
            )
        ax.set(title=panel.title, xlabel="flipped training labels (%)", ylabel="test accuracy (%)")
        ax.set_xticks(rates)
        ax.set_ylim(top=101.0)
        ax.grid(axis="y")
        ax.legend(loc="lower left", frameon=False)
    return finish(f"Test accuracy against the share of flipped training labels: {panel.title}")


def losses_figure() -> str:
    """Return the curves of the losses."""
    with drawing(3.8) as (ax, finish):
        plot_losses(ax=ax)
    return finish("Losses as functions of the margin violation")


def convergence_figure(fit: SingleFit) -> str:
    """Return the objective and the residual of one fit per iteration."""
    with drawing(3.8) as (ax, finish):
        plot_history(fit.model, ax=ax)
    return finish("Objective and residual of one fit per iteration")


def boundary_figure(fit: SingleFit) -> str:
    """Return the decision boundary of one fit, flipped and ignored samples marked."""
    model, split = fit.model, fit.split
    with drawing(4.6) as (ax, finish):
        plot_boundary(model, split.X, split.y, ax=ax)
        ax.scatter(
            *split.X[split.flipped].T,
            s=46,
            facecolors="none",
            edgecolors=INK,
            lw=0.7,
            label=f"wrong label ({np.count_nonzero(split.flipped)})",
        )
        accuracy = model.score(split.X_test, split.y_test)
        ax.set_title(f"{type(model).__name__}: {accuracy:.1%} of the test right")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    return finish(f"Decision boundary of {type(model).__name__} in the plane")


def fits_to_moons(seed: int) -> list[SingleFit]:
    """Fit KernelHTSVC and SVC to two moons with wrong labels on both sides."""
    X, clean = make_moons(MOONS, noise=0.15, random_state=seed)
    X_test, y_test = make_moons(MOONS_TEST, noise=0.15, random_state=seed + 1)
    y, flipped = flip_labels(clean, SHOWN_RATE, random_state=seed + 1)
    split = Split(X, y, X_test, y_test, flipped)
    models = [KernelHTSVC(gamma=MOONS_GAMMA, random_state=seed), SVC(gamma=MOONS_GAMMA)]
    return [SingleFit(model.fit(X, y), split) for model in models]


def moons_figure(fit: SingleFit) -> str:
    """Return what a model with a kernel says all over the plane, support vectors ringed."""
    model, split = fit.model, fit.split
    name, support = type(model).__name__, split.X[model.support_]
    low, high = split.X.min(axis=0) - 0.3, split.X.max(axis=0) + 0.3
    across, up = np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90)
    places = np.stack(np.meshgrid(across, up), axis=-1)
    level = model.decision_function(places.reshape(-1, 2)).reshape(places.shape[:2])
    with drawing(4.6) as (ax, finish):
        ax.contour(across, up, level, levels=[0.0], colors=INK, linewidths=1.6)
        for label, look in zip(np.unique(split.y), LOOKS, strict=False):
            own = split.X[split.y == label]
            ax.scatter(*own.T, s=9, color=look["color"], marker=look["marker"])
        rings = {"s": 40, "facecolors": "none", "edgecolors": INK, "lw": 0.6}
        ax.scatter(*support.T, label=f"support vector ({len(support)})", **rings)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{name}: {model.score(split.X_test, split.y_test):.1%} of the test right")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.04), frameon=False)
    return finish(f"Decision boundary of {name} on two moons with wrong labels")
