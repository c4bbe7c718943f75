"""What a user should know of a fit that went wrong, and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from htsvm._typing import Array
from htsvm.exceptions import IgnoredClassWarning, warn_user
from htsvm.linalg import Operator
from htsvm.optimality import Certificate
from htsvm.solvers import SolverResult
from htsvm.svm.validation import plain

Fitted = tuple[SolverResult, Certificate]


def warn_unconverged(name: str, fitted: Sequence[Fitted], max_iter: int) -> None:
    """Warn of problems that are not certified, with the advice of their solver.

    A constant classifier is certified all the same; whether anything better was found in time is
    for the solver to say, unless it ended at the constant classifier itself.
    """
    failed = [(r, c) for r, c in fitted if not c.certified or _stopped_above_constant(r, c)]
    if not failed:
        return
    result, certificate = max(failed, key=lambda pair: pair[1].residual)
    residual = result.residual if certificate.certified else certificate.residual
    kept = ""
    if result.constant:
        kept = (
            "The constant classifier has a lower objective than that point: it is what was kept, "
            "and what the certificate is about. "
        )
    where = f" in {len(failed)} of {len(fitted)} problems" if len(fitted) > 1 else ""
    advice = [certificate.rounding_note] if certificate.rounding_note else []
    advice += result.advice or [
        "Scale the features to similar ranges (for example with StandardScaler or MaxAbsScaler), "
        "or increase max_iter or tol."
    ]
    warn_user(
        f"{name} did not converge{where}: the residual is {residual:.2e}, tol is "
        f"{certificate.tol:.2e}, after {result.n_iter} iterations (max_iter={max_iter}). "
        + kept
        + " ".join(text[0].upper() + text[1:].rstrip(".") + "." for text in advice),
        ConvergenceWarning,
    )


def _stopped_above_constant(result: SolverResult, certificate: Certificate) -> bool:
    """Return whether a constant classifier was kept instead of a point that was not yet done."""
    return result.constant and not result.converged and result.residual > certificate.tol


def warn_ignored(model: Any, codes: Array, weights: Array | None) -> None:
    """Warn if more than half of a class is ignored, given the codes of all samples."""
    k = len(model.classes_)
    counted, ignored = codes, model.ignored_
    if weights is not None:
        counted, ignored = codes[weights > 0.0], ignored[weights[ignored] > 0.0]
    size, lost = (np.bincount(some, minlength=k) for some in (counted, codes[ignored]))
    warn_shares(model, lost / np.maximum(size, 1))


def warn_unrecognised(model: Any, operator: Operator, codes: Array) -> None:
    """Warn where one problem per class leaves a class to the others, though each is solved."""
    if getattr(model, "multi_class", None) != "ovr" or len(model.classes_) < 3:
        return
    scores = operator.scores(model.coef_, model.intercept_)
    size, right = (
        np.bincount(some, minlength=len(model.classes_))
        for some in (codes, codes[scores.argmax(axis=1) == codes])
    )
    k = int((right / size).argmin())
    if right[k] < 0.5 * size[k]:
        warn_user(
            f"{type(model).__name__} with multi_class='ovr' recognises only "
            f"{right[k] / size[k]:.0%} of the training samples of class "
            f"{plain(model.classes_[k])!r}: scores of separate problems need not compare. "
            "multi_class='auto' fits all classes as one problem.",
            IgnoredClassWarning,
        )


def warn_shares(model: Any, share: Array) -> None:
    """Warn if more than half of a class is ignored, given the share of each."""
    if not np.any(share > 0.5):
        return
    k = int(share.argmax())
    text = (
        f"{type(model).__name__} ignores {share[k]:.0%} of the samples of class "
        f"{plain(model.classes_[k])!r} as outliers"
    )
    # Several views with kernels have no coef_, but coefficients of each view.
    given = [model.coef_] if hasattr(model, "coef_") else model.view_coef_
    coefs = [np.atleast_2d(coef) for coef in given]
    if not any(np.any(coef[k if len(coef) > 1 else 0]) for coef in coefs):
        text += ": the lowest objective found is that of a constant classifier (coef_ = 0)"
    advice = ["a larger C"] + ([f"a larger {model._cap_name}"] if model._cap_name else [])
    advice += [] if model.class_weight == "balanced" else ["class_weight='balanced'"]
    warn_user(
        f"{text}. Either most labels of this class are wrong, or the fit has given up a class "
        "whose labels are right; training data alone do not tell which. Look at some of these "
        "samples (htsvm.audit_labels puts all in an order to review). If their labels are right, "
        f"try {', '.join(advice)}.",
        IgnoredClassWarning,
    )
