"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit import trust as reviews
from htsvm.audit.checks import Finding
from htsvm.audit.inputs import codes_of
from htsvm.audit.trust import REVIEW, UNSEEN, Calibration

POLICIES = ("review", "replace", "blank")
# Suspects on the page at most, unless all rows are asked for.
MOST_SHOWN = 100_000
# Words for a trust: a rank, which says no more than that.
WORDS = {0.1: "very doubtful", 0.5: "doubtful", 0.9: "a little doubtful"}
FINE = "little speaks against it"
UNLESS = (
    "unless some kind of sample is more often labelled wrongly than rightly. Overlap of classes "
    "counts as wrong here; a review of {} rows tells how many are."
)


@dataclass(frozen=True)
class Estimate:
    """A share, known to lie in a range; without a review it has only an upper end."""

    value: float | None
    low: float
    high: float

    def __str__(self) -> str:
        if self.value is None:
            return f"at most {self.high:.1%}"
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True, eq=False)
class LabelAudit:
    """Which labels are wrong, as found by `audit_labels`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels that occur.
    codes, suggested, before : ndarray of shape (n_samples,)
        Given and suggested label of each sample, and the one before an earlier review, as numbers
        of `classes`.
    margin : ndarray of shape (n_samples,)
        By how much the score of the best other class exceeds that of the given label.
    ignored : ndarray of shape (n_samples,)
        In how many of the `fits` the label was given up.
    duplicate : ndarray of shape (n_samples,)
        A number for each group of equal samples with different labels; -1 for others.
    outlier : ndarray of bool of shape (n_samples,)
        Samples far from all others, which no class explains.
    trusted, reviewed : ndarray of shape (n_samples,)
        Whether the label was said to be reviewed; and the right label of reviewed rows: -1 for none
        of the classes, -2 where nobody looked.
    share_given, share_other, best : ndarray of shape (n_samples,)
        P(label as given to such samples), right or wrong: of this label and of the best other; and
        the label that is given most often to such samples.
    suspicion, order : ndarray of shape (n_samples,)
        Larger for labels that are more likely wrong, by one fit and by all of them.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        Shares P(given label j | true class k) of a model of the noise, which may take classes that
        overlap for wrong labels.
    learnable : bool
        Whether anything predicts the labels; if not, none is an issue.
    findings : tuple of Finding
        What else was found: copies of rows, missing values, odd columns, rare classes.
    about : str
        What was fitted, in words.
    """

    classes: Array
    codes: Array
    before: Array
    suggested: Array
    margin: Array
    ignored: Array
    fits: int
    duplicate: Array
    outlier: Array
    trusted: Array
    reviewed: Array
    weights: Array
    share_given: Array
    share_other: Array
    best: Array
    suspicion: Array
    order: Array
    noise_matrix: Array
    learnable: bool
    index: Array
    seed: int = 0
    findings: tuple[Finding, ...] = ()
    about: str = ""
    samples: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        size = f"{len(self)} samples, {len(self.classes)} classes"
        return f"LabelAudit({size}, {self.share_wrong} wrong, {self.n_reviewed} reviewed)"

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{escape(finding.text)}</li>" for finding in self.findings)
        first = self.issues().head(10).to_html() if self.learnable else ""
        return f"<p>{escape(self.summary)}</p><ul>{told}</ul>{first}"

    @property
    def summary(self) -> str:
        """What is known of the share of wrong labels, in a sentence."""
        size = f"{len(self):,} labels of {len(self.classes)} classes: "
        if not self.learnable:
            return f"{size}no column predicts them measurably better than chance, so none is named."
        if self.share_wrong.value is None:
            return f"{size}{self.share_wrong} are wrong, {UNLESS.format(self.enough)}"
        return f"{size}{self.share_wrong} are wrong, as {self.n_reviewed} reviewed rows show."

    @property
    def n_reviewed(self) -> int:
        """The number of reviewed rows that calibrate the audit."""
        return int((self.reviewed != UNSEEN).sum())

    @property
    def unseen(self) -> Array:
        """Which rows nobody has reviewed."""
        return np.asarray((self.reviewed == UNSEEN) & ~self.trusted)

    @property
    def enough(self) -> int:
        """The number of reviewed rows from which on the audit knows how good it is."""
        return min(REVIEW, len(self))

    def rows_to_review(self, n: int = REVIEW) -> Array:
        """Return rows that tell most about the audit: half of them random suspects, half others.

        Parameters
        ----------
        n : int, default=50
            How many rows.
        """
        odd = self.best != self.codes
        return reviews.rows_to_review(odd, self.unseen, n, self.seed + self.n_reviewed)

    def update(self, rows: Any, labels: Any) -> LabelAudit:
        """Return the audit with some reviewed rows: they calibrate trust and share.

        Parameters
        ----------
        rows : array-like of int
            Positions of samples.
        labels : array-like
            Their right labels, as people have found them.
        """
        rows, labels = np.atleast_1d(np.asarray(rows)), np.atleast_1d(np.asarray(labels))
        odd = rows.dtype.kind not in "iu" or rows.ndim != 1 or len(np.unique(rows)) != len(rows)
        if odd or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(self):
            raise ValueError(f"rows must be different whole numbers from 0 to {len(self) - 1}.")
        if labels.shape != rows.shape:
            raise ValueError(f"{len(rows)} rows need as many labels, got {labels.shape}.")
        reviewed = self.reviewed.copy()
        reviewed[rows] = codes_of(labels, self.classes)
        return replace(self, reviewed=reviewed)

    @cached_property
    def evidence(self) -> Array:
        """What the trust is computed from, see `htsvm.audit.trust`."""
        return reviews.evidence(self.share_given, self.share_other, self.suspicion)

    @cached_property
    def calibration(self) -> Calibration:
        """What the reviewed rows say about how evidence becomes trust."""
        rows = np.flatnonzero(self.reviewed != UNSEEN)
        return Calibration.of(self.evidence[rows], self.reviewed[rows] == self.before[rows])

    @property
    def calibrated(self) -> bool:
        """Whether enough rows were reviewed."""
        return self.n_reviewed >= self.enough

    @cached_property
    def trust(self) -> Array:
        """How far each label is trusted, from 0 to 1.

        Before a review it is a rank, made to be ordered by. After it is the probability that the
        label is right; 1 or 0 for reviewed rows.
        """
        found = self.calibration.trust(self.evidence)
        if not self.calibrated:
            found[np.argsort(-self.order, kind="stable")] = np.sort(found)
        seen = self.reviewed != UNSEEN
        found[seen] = self.reviewed[seen] == self.codes[seen]
        found[self.trusted] = 1.0
        return found

    @cached_property
    def share_wrong(self) -> Estimate:
        """The share of wrong labels, by weight.

        Without a review an upper end, if samples of each kind are labelled rightly more often than
        as any other class. After one a value, with a range that holds in nine of ten data sets.
        """
        free, total = self.unseen, self.weights.sum()
        if not self.calibrated:
            odd = float(self.weights @ (free & (self.best != self.codes))) / total
            error = reviews.DEVIATE * float(np.sqrt(odd * (1.0 - odd) / len(self)))
            return Estimate(None, 0.0, min(odd + error, 1.0))
        known = float(self.weights @ (~free & (self.trust < 1.0))) / total
        part = float(self.weights @ free) / total
        if part == 0.0:
            return Estimate(known, known, known)
        found = self.calibration.share(self.evidence[free], self.weights[free])
        return Estimate(*(known + part * one for one in found))

    def reliability(self) -> Any:
        """Return how trust and review agree: a row per word.

        Columns: labels with that word, the mean of their trust, how many of them were reviewed, and
        the share of those that was right.
        """
        import pandas as pd

        said, names = self.calibration.trust(self.evidence), [*WORDS.values(), FINE]
        place = np.searchsorted(list(WORDS), said, side="right")
        groups = pd.DataFrame({"word": place, "trust": said, "labels": 1}).groupby("word")
        table = groups.agg({"labels": "sum", "trust": "mean"})
        rows = np.flatnonzero(self.reviewed != UNSEEN)
        right = (self.reviewed == self.before)[rows]
        seen = pd.DataFrame({"word": place[rows], "right": right}).groupby("word")["right"]
        table["reviewed"], table["right"] = seen.size(), seen.mean()
        table = table.reindex(range(len(names))).fillna({"labels": 0, "reviewed": 0})
        return table.set_axis(names)

    def is_issue(self, threshold: float = 0.5) -> Array:
        """Return which labels are less trusted than the threshold and have a better suggestion.

        Parameters
        ----------
        threshold : float, default=0.5
            The trust below which a label is an issue.
        """
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie between 0 and 1, got {threshold!r}.")
        wrong = (self.trust < threshold) & (self.suggested != self.codes) & ~self.trusted
        return np.asarray(wrong & self.learnable)

    def suspects(self, whole: bool = False) -> Array:
        """Return the rows for the page, the least trusted first; then others that tell most.

        Parameters
        ----------
        whole : bool, default=False
            Whether to return all rows.
        """
        shown = (self.suggested != self.codes) & self.learnable
        shown |= self.is_issue() | (self.duplicate >= 0) | self.outlier
        rows = np.arange(len(self)) if whole else np.flatnonzero(shown & ~self.trusted)
        rows = rows[np.argsort(self.trust[rows], kind="stable")]
        rows = rows if whole else rows[:MOST_SHOWN]
        first = self.rows_to_review(max(self.enough - self.n_reviewed, 0))
        return np.concatenate([rows, np.setdiff1d(first, rows)])

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
        """Return the labels with the issues marked, blank, or replaced where that is sure to gain.

        Reviewed rows have their right labels in any case.

        Parameters
        ----------
        policy : {"review", "blank", "replace"}, default="review"
            "review" changes nothing else: a masked array, whose mask marks the issues. "blank" puts
            None in the place of issues. "replace" puts in the label that is given most often to
            such samples, where it is 98 % sure that this makes more labels right than wrong and the
            reviewed rows there agree; it needs 50 reviewed rows.
        threshold : float, default=0.5
            The trust below which a label is an issue, for "review" and "blank".
        """
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}.")
        seen = self.reviewed >= 0
        labels = self.classes[np.where(seen, self.reviewed, self.codes)]
        issue = self.is_issue(threshold) & ~seen
        if policy == "review":
            return np.ma.masked_array(labels, mask=issue)
        if policy == "replace":
            if not self.calibrated:
                raise ValueError(
                    f"policy='replace' needs {self.enough} reviewed rows, and there are "
                    f"{self.n_reviewed}: nobody knows how many suggestions are right. Review "
                    "audit.rows_to_review(), then audit.update(rows, labels)."
                )
            return np.where(reviews.rows_to_replace(self), self.classes[self.best], labels)
        blank = labels.astype(object)
        blank[issue] = None
        return np.asarray(blank)

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
        from htsvm.audit.reasons import nearest_confirmed

        if self.samples is None:
            raise ValueError("This audit holds no samples, so it has no neighbours.")
        return nearest_confirmed(self, np.asarray(rows, dtype=int), k)

    def plot(self, axes: Any = None) -> Any:
        """Draw the distribution of trust beside the noise matrix; needs matplotlib.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            Where to draw.
        """
        from htsvm.audit.plot import plot_audit

        return plot_audit(self, axes)

    def to_html(self, path: str | Path, frame: Any = None) -> Path:
        """Write the page on which people review suspects; needs pandas.

        Parameters
        ----------
        path : str or Path
            The page.
        frame : DataFrame, optional
            The table as people know it, a row per sample; the numbers of the samples by default.
        """
        from htsvm.audit.page import page_of_audit

        path = Path(path)
        path.write_text(page_of_audit(self, frame, path), encoding="utf-8")
        return path
