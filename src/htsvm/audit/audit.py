"""Which labels are wrong: `audit_labels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm.audit import checks, inputs, scoring
from htsvm.audit.checks import Finding
from htsvm.audit.result import LabelAudit
from htsvm.audit.scoring import AuditTask, Scores, folds_of, violation
from htsvm.audit.trust import UNSEEN
from htsvm.linalg.threads import single_threaded_blas

QUALITIES = ("best", "fast")
FOLDS = 5


def audit_labels(
    X: Any = None,
    y: Any = None,
    *,
    model: Any = None,
    pred_probs: Any = None,
    groups: Any = None,
    trusted: Any = None,
    given: Any = None,
    sample_weight: Any = None,
    quality: str = "best",
    cv: int = FOLDS,
    random_state: Any = None,
    progress: Callable[[str], None] | None = None,
) -> LabelAudit:
    """Put labels in the order of how likely they are wrong, and say what they should be.

    How many are wrong cannot be known from labels alone: a review of fifty rows tells, see
    `LabelAudit.update`.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}, or a mapping or list of those
        Samples of shape (n_samples, n_features), or several views of them. Missing values (NaN) are
        filled with medians. The columns of a data frame are read as on the command line, dates,
        categories and texts too; those of other matrices are scaled to unit variance where one is
        ten times as wide as the median one. Dask collections are brought into memory.
    y : array-like of shape (n_samples,)
        Labels as given, of any type. A Series lends its index to the result.
    model : classifier, optional
        Any classifier with `predict_proba` or `decision_function`, fitted in folds, to a data frame
        as it is given. None is kernel least squares with leave-one-out scores, fitted to the labels
        and to what a model of the noise makes of them.
    pred_probs : array-like of shape (n_samples, n_classes), optional
        Out-of-sample probabilities of any model, classes in sorted order; in the place of `model`.
    groups : array-like of shape (n_samples,), optional
        Rows of one group (copies, images of one patient) are judged without each other. By default
        exact and near copies of rows are found and are groups.
    trusted : array-like of bool of shape (n_samples,), optional
        Labels that have been reviewed. They are never suspected, and others are judged by them.
    given : array-like of shape (n_samples,), optional
        The labels before that review: those of the trusted rows calibrate the audit.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts, in fits and in shares.
    quality : {"best", "fast"}, default="best"
        "best" asks trees and logistic regression as well, where X is one matrix of at most 100
        columns; "fast" takes kernel least squares alone.
    cv : int, default=5
        Folds for `model`.
    random_state : int, RandomState or None, default=None
        Drives landmarks, folds and the rows to review. None always takes the same seed.
    progress : callable, optional
        Called with a few words before each step.

    Returns
    -------
    LabelAudit
        An order and a suggestion per label, the noise matrix, and what else was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from htsvm import audit_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[:5] = 2
    >>> audit = audit_labels(X, y)
    >>> sorted(audit.issues().index[:5])
    [0, 1, 2, 3, 4]
    """
    say = progress or (lambda text: None)
    if y is None or (X is None and pred_probs is None):
        raise ValueError("audit_labels needs labels y, and samples X or probabilities pred_probs.")
    if quality not in QUALITIES:
        raise ValueError(f"quality must be one of {', '.join(QUALITIES)}, got {quality!r}.")
    X, y = (part.compute() if hasattr(part, "compute") else part for part in (X, y))
    X = X.to_pandas() if hasattr(X, "to_pandas") else X.tocsr() if hasattr(X, "tocsr") else X
    index = inputs.index_of(y)
    others = {"trusted": trusted, "sample_weight": sample_weight, "groups": groups, "given": given}
    inputs.check_frames({} if X is None else X, y=y, **others)
    classes, codes = inputs.classes_of(y)
    n, k, seed = len(codes), len(classes), seed_of(random_state)
    known, weights = inputs.flags(trusted, n), inputs.weights(sample_weight, n)
    before = inputs.codes_before(given, codes, classes, known)
    findings = checks.class_findings(classes, codes)
    plain = None
    if X is not None:
        X, plain, more = inputs.samples(X, classes[codes])
        findings = more + findings
    say("copies of rows")
    groups, more = checks.copies_of(plain, inputs.group_numbers(groups, n), seed)
    findings += more
    folds = folds_of(codes, cv, groups, seed)
    task = AuditTask(codes, k, weights, known, folds, groups, seed, say)
    judged = X if hasattr(X, "iloc") or isinstance(X, Mapping) else plain
    scores = _scored(task, judged, plain, model, pred_probs, quality, sample_weight is not None)
    say("duplicates and outliers")
    learned = checks.learnable(scores.first, codes, weights)
    if not learned:
        findings.insert(0, Finding("nothing", "X", NOTHING))
    return _assembled(
        scores, before, classes=classes, codes=codes, trusted=known, weights=weights,
        learnable=learned, seed=seed,
        duplicate=np.full(n, -1) if plain is None else checks.duplicates(plain, codes),
        outlier=checks.outliers(scores.isolation, n), findings=tuple(findings), samples=plain,
        index=np.arange(n) if index is None else np.asarray(index),
    )  # fmt: skip


def _scored(
    task: AuditTask, X: Any, plain: Any, model: Any, pred_probs: Any, quality: str, weighted: bool
) -> Scores:
    """Judge the labels by given probabilities, by a model in folds, or by our own fits."""
    if pred_probs is not None:
        logs = np.log(inputs.probabilities(pred_probs, len(task.codes), task.n_classes))
        return scoring.rated(logs, task, 0, 1, "given probabilities", True)
    if model is not None:
        return scoring.model_scores(model, X, task, weighted)
    with single_threaded_blas():
        scores = scoring.kernel_scores(plain, task)
        return scoring.with_ensemble(scores, plain, task) if quality == "best" else scores


def _assembled(scores: Scores, before: Array, codes: Array, **known: Any) -> LabelAudit:
    """Return an audit from what the fits say; labels are judged as they were before a review."""
    judged = np.where(before < 0, codes, before)
    rows, rest = np.arange(len(codes)), scores.shares.copy()
    rest[rows, judged] = -1.0
    return LabelAudit(
        codes=codes, before=np.where(before == UNSEEN, codes, before),
        reviewed=np.where(before != UNSEEN, codes, UNSEEN),
        suggested=scores.final.argmax(axis=1), margin=violation(scores.final, codes),
        ignored=scores.ignored, fits=scores.fits, suspicion=scores.suspicion, order=scores.order,
        share_given=np.where(before == -1, 0.0, scores.shares[rows, judged]),
        share_other=rest.max(axis=1), best=scores.shares.argmax(axis=1),
        noise_matrix=scores.noise.rates, about=scores.about, **known,
    )  # fmt: skip


NOTHING = (
    "No column predicts the labels measurably better than chance: none is named. Other columns or "
    "more rows are needed, or the labels are random."
)
