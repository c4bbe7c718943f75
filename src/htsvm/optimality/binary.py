"""The certificate of a binary point: how stationary, for which nu, and whether a minimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator
from htsvm.losses import Loss
from htsvm.optimality import given, residuals
from htsvm.optimality.certificate import PointCertificate, certify_problem
from htsvm.optimality.duality import duality_gap
from htsvm.optimality.samples import ON_MARGIN, Samples
from htsvm.optimality.second_order import MOST_DIMENSIONS, Verdict
from htsvm.optimality.summary import Summary
from htsvm.problems import Problem

# Rows from which the size of rounding errors is estimated; their mean square length varies by
# about 1/sqrt(64) of itself.
SAMPLED_ROWS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class BinaryCertificate(PointCertificate):
    r"""What is known of a point (w, b, psi) of a problem of two classes.

    Attributes
    ----------
    stationarity : float
        ``||R w + N' psi|| / (||R w|| + ||N' psi||)``, with a free intercept for rows less their
        mean, weighted by the multipliers: it does not change where all rows are moved.
    balance : float
        ``|y' psi| / sum |psi|``; 0 without an intercept.
    prox_residual : float
        The root mean square of ``q - prox(q - nu psi)``, samples counting by their penalty,
        relative to that of ``(1, q)``.
    nu : float
        The nu of `prox_residual`.
    nu_max : float
        The point is P-stationary for nu in ``(0, nu_max]``; 0 if it is not stationary.
    local_minimizer : {"yes", "no", "undecided"}
        The second-order verdict.
    curvature : float
        The smallest curvature found over directions of unit length; NaN where none was needed.
    on_margin : float
        The largest violation, in size, among the samples that count as on the margin.

    Notes
    -----
    See `Certificate` and `PointCertificate` for the attributes that all certificates have. Units
    are those of `htsvm.optimality.residuals`: no residual changes with the units of X, C and the
    weights.
    """

    nu: float
    nu_max: float
    on_margin: float
    local_minimizer: str = "undecided"
    curvature: float = math.nan

    _claim = "P-stationary"

    def _measures(self) -> list[tuple[str, str]]:
        parts = dict(super()._measures())
        parts["  prox"] += f"  (nu = {self.nu:.4g})"
        curvature = "" if math.isnan(self.curvature) else f"  (curvature {self.curvature:.3g})"
        return [
            *parts.items(),
            ("  for nu in", f"(0, {self.nu_max:.4g}]" if self.nu_max > 0.0 else "(none)"),
            ("local minimiser", self.local_minimizer + curvature),
        ]


def certify(
    X: Any,
    y: Any,
    coef: Any,
    intercept: float,
    multipliers: Any,
    *,
    C: float,
    loss: Loss,
    sample_weight: Any = None,
    regularizer: Any = None,
    fit_intercept: bool = True,
    nu: float | None = None,
    tol: float = 1e-3,
    second_order: bool = True,
    on_margin: float = ON_MARGIN,
    max_dimension: int = MOST_DIMENSIONS,
) -> BinaryCertificate:
    """Certify a point of min w'Rw/2 + sum_i C weight_i loss(1 - y_i (x_i'w + b)).

    One product with X, one with its transpose (two for a convex loss, for the duality gap), and
    the rows that decide the second order.

    Parameters
    ----------
    X : array, sparse matrix or Operator
        The m x n data.
    y : array of shape (m,)
        Labels, -1 or +1.
    coef, intercept : array of shape (n,), float
        The point (w, b).
    multipliers : array of shape (m,)
        psi, at a solution in -C weight times the subdifferential of the loss; what is passed for
        samples of weight zero is taken as zero.
    C : float
        The penalty.
    loss : Loss
        The loss; it needs a prox.
    sample_weight : array of shape (m,), optional
        Factors of C. Samples of weight zero drop out.
    regularizer : None, float, array of shape (n,) or (n, n), or Quadratic
        R; the identity by default.
    fit_intercept : bool, default=True
        Whether b is a variable. Otherwise it must be 0.
    nu : float, optional
        The nu of the prox residual. By default half of the weak-convexity limit
        ``1 / (weak_convexity * C)``, below which the prox is single-valued and continuous; for a
        convex loss 1 / C. Losses with a concave kink or a jump (`Ramp`, `ZeroOne`) have no such
        limit: there a sample near it gets a smaller nu of its own (`Loss.reference_step`).
    tol : float, default=1e-3
        The residual up to which the point counts as stationary.
    second_order : bool, default=True
        Whether to look for the second-order verdict.
    on_margin : float, default=1e-9
        A violation of at most this size counts as zero, whatever its multiplier; see Notes.
    max_dimension : int, default=1000
        The largest dimension for the second-order verdict; see `second_order_verdict`.

    Returns
    -------
    BinaryCertificate
        The residuals, the interval of nu, the objectives and the verdict.

    Notes
    -----
    A computed point is stationary up to a residual only, and its violations are not exactly zero
    where they should be. Which samples are on the margin, in the transition zone and so on is
    therefore read off q-hat = prox(q - nu psi) at the default nu: the violation that goes with the
    multiplier. It equals q at an exactly stationary point, differs from it by no more than the
    prox residual, and is exactly zero for samples that hold the margin. Where q and q-hat lie on
    two sides of the knee or of the cap, the second-order verdict takes neither for granted. The
    verdict is on the stationary point that the computed one stands for: it is as reliable as that
    reading, which `on_margin` of the result measures.

    `nu_max` is the smallest of the limits of single samples at q-hat, so it is exact for an
    exactly stationary point. A point that is not stationary within `tol` at the default nu is
    taken as not stationary for any: `nu_max` is 0 and the verdict "undecided", since first-order
    descent may well be left. The default nu is used for this even if another is given, because a
    nu beyond `nu_max` says nothing against the point. At ``nu = nu_max`` exactly the prox has two
    values and rounding may pick the wrong one; stay a little below.

    Examples
    --------
    >>> import numpy as np
    >>> from htsvm.losses import HybridTruncated
    >>> X, y = np.array([[0.5], [-0.5]]), np.array([1, -1])
    >>> c = certify(X, y, [0.2], 0.0, [-0.2, -0.2], C=5 / 9, loss=HybridTruncated())
    >>> c.certified, c.local_minimizer
    (True, 'no')
    """
    known = given.stated("certify", "prox", X, C, loss, sample_weight, regularizer, fit_intercept)
    b = float(np.asarray(intercept, dtype=np.float64).reshape(-1)[0])
    if not np.isfinite(b):
        raise ValueError(f"intercept must be finite, got {b!r}.")
    if not fit_intercept and b != 0.0:
        raise ValueError(f"intercept must be 0 when fit_intercept=False, got {b!r}.")
    if nu is not None and not (np.isfinite(nu) and nu > 0.0):
        raise ValueError(f"nu must be positive and finite (or None), got {nu!r}.")
    if not (np.isfinite(on_margin) and on_margin >= 0.0):
        raise ValueError(f"on_margin must be finite and not negative, got {on_margin!r}.")
    problem = Problem(y=given.labels(y, known["operator"].shape[0]), **known)
    limit = max_dimension if second_order else None
    return _certify(problem, coef, b, multipliers, tol, nu, on_margin, limit)


@certify_problem.register
def _certify(
    problem: Problem, coef: Array, intercept: float, multipliers: Array, tol: float,
    nu: float | None = None, on_margin: float = ON_MARGIN,
    max_dimension: int | None = MOST_DIMENSIONS,
) -> BinaryCertificate:  # fmt: skip
    m, n = problem.operator.shape
    w = given.vector("coef", coef, n, "one per feature of X")
    psi = given.vector("multipliers", multipliers, m, "one per sample")
    samples = Samples(problem, w, intercept, psi, on_margin)
    summary = samples.summarise()

    def verdict() -> Verdict:
        return Verdict() if max_dimension is None else samples.verdict(max_dimension)

    certificate = conclude(problem, w, intercept, summary, verdict, tol, samples.status)
    if nu is None:
        return certificate
    # Whether the point is stationary was asked at the default nu, whatever nu is asked for.
    prox = residuals.violation(samples.square_errors(nu), summary.square_size)
    return replace(certificate, nu=float(nu), prox_residual=prox)


def conclude(
    problem: Problem,
    w: Array,
    b: float,
    summary: Summary,
    verdict_of: Callable[[], Verdict],
    tol: float,
    sample_status: Array | None = None,
) -> BinaryCertificate:
    """Return the certificate of a point from the summary of its samples.

    Of the rows of `problem` only a few are looked at. `verdict_of` is asked for the second order if
    the point is stationary.
    """
    X, support = problem.operator, summary.support
    typical, centred = _typical_lengths(X, support[spread_positions(len(support))])
    length, _ = _typical_lengths(X, spread_positions(X.shape[0]))
    size = length * float(np.linalg.norm(w)) + abs(b)
    certificate = BinaryCertificate(
        **summary.measured(problem, w, len(support), typical, centred, size, tol),
        duality_gap=duality_gap(summary.dual, w, problem.regularizer, problem.fit_intercept),
        convex=problem.loss.weak_convexity == 0.0,
        nu=problem.loss.unit_step / problem.C,
        nu_max=0.0,
        on_margin=summary.margin_width,
        sample_status=sample_status,
    )
    if not certificate.certified:
        return replace(certificate, notes=("the point is not stationary", *certificate.notes))
    verdict = verdict_of()
    return replace(
        certificate,
        nu_max=summary.largest_nu,
        local_minimizer=verdict.local_minimizer,
        curvature=verdict.curvature,
        escape_direction=verdict.direction,
        notes=(verdict.note,) if verdict.note else (),
    )


def spread_positions(count: int) -> Array:
    """Return the positions of a few among `count` rows, evenly spread."""
    return np.linspace(0, count - 1, SAMPLED_ROWS if count else 0).astype(np.intp)


def _typical_lengths(operator: Operator, rows: Array) -> tuple[float, float]:
    """Return the root mean square length of some rows, and that of them less their mean."""
    if len(rows) == 0:
        return 0.0, 0.0
    some = operator.take(rows)
    square = centred = some.square_sum / len(rows)
    if not some.representers:
        mean = some.block(slice(None)).mean(axis=0, dtype=np.float64)
        centred = max(square - float(np.square(mean).sum()), 0.0)
    return math.sqrt(square), math.sqrt(centred)
