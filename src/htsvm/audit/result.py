"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit.checks import Finding
from htsvm.audit.noise_model import NoiseModel, bootstrap_rates, fit_noise

POLICIES = ("review", "replace", "blank")
# The level of intervals of the noise rates, and the bootstrap draws they come from: fewer with more
# classes than a hundred, whose matrices take long to fit.
LEVEL = 0.9
LEAST_DRAWS, MOST_DRAWS, DRAWS_BY_CLASSES = 8, 40, 4000


@dataclass(frozen=True)
class Estimate:
    """A number with an interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """Which labels are wrong, as estimated by `audit_labels`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels that occur.
    codes, suggested : ndarray of shape (n_samples,)
        Given and suggested label of each sample, as numbers of `classes`.
    trust : ndarray of shape (n_samples,)
        An estimate of how likely each label is right, made to be ordered by; 1 for reviewed ones.
    margin : ndarray of shape (n_samples,)
        By how much the score of the best other class exceeds that of the given label.
    ignored : ndarray of shape (n_samples,)
        In how many of the `fits` the label was given up.
    duplicate : ndarray of shape (n_samples,)
        A number for each group of equal samples with different labels; -1 for others.
    outlier : ndarray of bool of shape (n_samples,)
        Samples far from all others, which no class explains.
    trusted : ndarray of bool of shape (n_samples,)
        Samples whose label was said to be reviewed.
    noise : NoiseModel
        The fitted model of wrong labels.
    findings : tuple of Finding
        What else was found: missing values, constant or identifier-like columns, rare classes.
    about : str
        What was fitted, in words.
    """

    classes: Array
    codes: Array
    trust: Array
    suggested: Array
    margin: Array
    ignored: Array
    fits: int
    duplicate: Array
    outlier: Array
    trusted: Array
    weights: Array
    doubt: Array
    noise: NoiseModel
    scores: Array
    index: Array
    findings: tuple[Finding, ...] = ()
    about: str = ""
    samples: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return (
            f"LabelAudit({len(self)} samples, {len(self.classes)} classes, about "
            f"{self.n_wrong:.0f} wrong labels)"
        )

    # ----------------------------------------------------------------------------- shares

    @property
    def share_wrong(self) -> float:
        """The estimated share of wrong labels, by weight."""
        return float(np.average(self.doubt, weights=self.weights))

    @property
    def n_wrong(self) -> float:
        """The estimated number of wrong labels."""
        return self.share_wrong * len(self)

    @cached_property
    def share_wrong_interval(self) -> Estimate:
        """The estimated share with its range.

        Its ends are two readings of the same labels, each widened by its sampling error: all
        overlap of classes is their nature (low), or none is (high).
        """
        free = ~self.trusted
        rows = np.arange(len(self))
        kind = fit_noise(
            self.scores, self.codes, weights=self.weights, trusted=self.trusted, ambiguity=0.0
        )
        posterior = kind.posterior(self.scores, self.codes)[rows, self.codes]
        lower = np.where(free, 1.0 - posterior, 0.0)
        upper = np.where(free, self.scores.argmax(axis=1) != self.codes, 0.0)
        ends = [float(np.average(part, weights=self.weights)) for part in (lower, upper)]
        error = 1.645 * float(np.sqrt(max(ends[1] * (1.0 - ends[1]), 0.0) / len(self)))
        low, high = min(*ends, self.share_wrong) - error, max(*ends, self.share_wrong) + error
        return Estimate(self.share_wrong, max(low, 0.0), min(high, 1.0))

    @property
    def noise_matrix(self) -> Array:
        """The estimated shares P(given label j | true class k), row k and column j."""
        return self.noise.rates

    @cached_property
    def noise_intervals(self) -> tuple[Array, Array]:
        """Low and high ends of the noise matrix: 90 % of a bootstrap of the noise model.

        They hold the error of sampling, not that of the model.
        """
        options = {"weights": self.weights, "trusted": self.trusted}
        number = min(MOST_DRAWS, max(LEAST_DRAWS, DRAWS_BY_CLASSES // len(self.classes)))
        draws = bootstrap_rates(self.scores, self.codes, self.noise, options, number, seed=0)
        ends = np.quantile(draws, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
        return np.minimum(ends[0], self.noise.rates), np.maximum(ends[1], self.noise.rates)

    def noise_frame(self) -> Any:
        """Return a table of pairs of classes: estimated shares with intervals, and numbers."""
        import pandas as pd

        low, high = self.noise_intervals
        n_classes = len(self.classes)
        posterior = self.noise.posterior(self.scores, self.codes)
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts.T, self.codes, posterior)
        true, given = np.divmod(np.arange(n_classes**2), n_classes)
        return pd.DataFrame(
            {
                "true_label": self.classes[true],
                "given_label": self.classes[given],
                "share": self.noise.rates.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                "samples": counts.ravel(),
            }
        )

    # ----------------------------------------------------------------------------- samples

    def is_issue(self, threshold: float = 0.5) -> Array:
        """Return which labels are less trusted than the threshold and have a better suggestion.

        Parameters
        ----------
        threshold : float, default=0.5
            The trust below which a label is an issue.
        """
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie between 0 and 1, got {threshold!r}.")
        return np.asarray((self.trust < threshold) & (self.suggested != self.codes) & ~self.trusted)

    def to_frame(self) -> Any:
        """Return one row per sample, under cleanlab's names first; the index is that of y."""
        import pandas as pd

        return pd.DataFrame(
            {
                "is_label_issue": self.is_issue(),
                "label_score": self.trust,
                "given_label": self.classes[self.codes],
                "predicted_label": self.classes[self.suggested],
                "margin": self.margin,
                "times_ignored": self.ignored,
                "fits": self.fits,
                "duplicate_group": self.duplicate,
                "is_outlier": self.outlier,
                "is_trusted": self.trusted,
            },
            index=self.index,
        )

    def issues(self, threshold: float = 0.5) -> Any:
        """Return the rows of `to_frame` that are issues, the least trusted first.

        Parameters
        ----------
        threshold : float, default=0.5
            The trust below which a label is an issue.
        """
        chosen = np.flatnonzero(self.is_issue(threshold))
        order = chosen[np.argsort(self.trust[chosen], kind="stable")]
        frame = self.to_frame().iloc[order]
        frame["is_label_issue"] = True
        return frame

    def corrected_labels(self, policy: str = "review", *, threshold: float = 0.5) -> Array:
        """Return the labels with the issues marked, blank, or replaced by their suggestions.

        Parameters
        ----------
        policy : {"review", "blank", "replace"}, default="review"
            "review" changes nothing: the labels are those given, as a masked array whose mask
            marks the issues, for people to look at. "blank" puts None in the place of issues, for
            rows to be left out or labelled anew. "replace" puts in the suggestions, unseen: where
            few labels are wrong, or people gave them, most of these are wrong themselves.
        threshold : float, default=0.5
            The trust below which a label is an issue.
        """
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}.")
        issue = self.is_issue(threshold)
        if policy == "review":
            return np.ma.masked_array(self.classes[self.codes], mask=issue)
        if policy == "replace":
            return np.asarray(self.classes[np.where(issue, self.suggested, self.codes)])
        labels = self.classes[self.codes].astype(object)
        labels[issue] = None
        return np.asarray(labels)

    def neighbours(self, rows: Any, k: int = 3) -> dict[int, dict[str, Array]]:
        """Return for some samples the nearest confirmed samples of both classes in question.

        Parameters
        ----------
        rows : array-like of int
            Positions of samples.
        k : int, default=3
            How many of each class.

        Returns
        -------
        dict
            By position: "given" and "suggested", positions of samples, the nearest first.
        """
        from htsvm.audit.neighbours import nearest_confirmed

        if self.samples is None:
            raise ValueError(
                "This audit holds no samples (loaded, or made on Dask), so it has no neighbours."
            )
        return nearest_confirmed(self, np.asarray(rows, dtype=int), k)

    # ----------------------------------------------------------------------------- in and out

    def plot(self, axes: Any = None) -> Any:
        """Draw the distribution of trust beside the noise matrix; needs matplotlib.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            Where to draw.
        """
        from htsvm.audit.plot import plot_audit

        return plot_audit(self, axes)

    def save(self, path: str | Path) -> Path:
        """Write a folder of CSV and JSON files, which `load` reads again.

        Parameters
        ----------
        path : str or Path
            A folder that does not exist yet.
        """
        from htsvm.audit.store import save_audit

        return save_audit(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> LabelAudit:
        """Read what `save` wrote; the samples themselves are not part of it.

        Parameters
        ----------
        path : str or Path
            The folder.
        """
        from htsvm.audit.store import load_audit

        return load_audit(Path(path))
