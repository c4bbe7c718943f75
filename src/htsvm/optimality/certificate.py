"""The certificate: how stationary a point is, for which nu, and whether it is a minimiser."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator
from htsvm.losses import Loss
from htsvm.optimality._inputs import Point, check_point
from htsvm.optimality._summary import Summary, default_nu, summarise
from htsvm.optimality.duality import duality_gap
from htsvm.optimality.partition import SampleStatus
from htsvm.optimality.second_order import Verdict

# How many rows are looked at to estimate the size of rounding errors.
SAMPLED_ROWS = 64


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""What is known of a point (w, b, psi), computed from the data alone.

    Attributes
    ----------
    stationarity : float
        ``||R w + N' psi|| / (1 + ||w||)``.
    balance : float
        ``|y' psi| / (1 + |F|)``, F the samples with a multiplier; 0 without an intercept.
    feasibility : float
        ``||q + N w + b y - 1|| / (1 + ||q||)``: zero, because q is computed from (w, b) here and
        not taken from a solver.
    prox_residual : float
        ``||q - prox(q - nu psi)|| / (1 + ||q||)``. A sample of weight k counts as k samples of
        weight one with a k-th of its multiplier each, here and in `balance`.
    nu : float
        The nu of `prox_residual`.
    nu_max : float
        The point is P-stationary for nu in ``(0, nu_max]``; 0 if it is not stationary.
    objective, trivial_objective, convex_objective : float
        The objective here, at the best constant classifier, and at the solution of the convex
        start (NaN where nobody filled it in).
    duality_gap : float
        For a convex loss, a bound on how far the objective is above its minimum; NaN for others,
        and for rows on Dask workers. `relative_duality_gap` is its share of the objective.
    local_minimizer : {"yes", "no", "undecided"}
        The second-order verdict.
    curvature : float
        The smallest curvature found over directions of unit length; NaN where none was needed.
    escape_direction : ndarray of shape (n + 1,) or None
        For a "no": (dw, db) along which the objective falls to second order.
    n_support : int
        Samples with a non-zero multiplier.
    counts : dict
        The number of samples of positive weight per `SampleStatus`, by its lower-case name.
    sample_status : ndarray of int8
        The `SampleStatus` of each sample.
    on_margin : float
        The largest violation, in size, among the samples that count as on the margin.
    tol, rounding_floor : float
        The tolerance asked for, and the residual that floating point alone may cause.
    notes : tuple of str
        Why a verdict is missing, and the like.
    """

    stationarity: float
    balance: float
    prox_residual: float
    nu: float
    nu_max: float
    objective: float
    trivial_objective: float
    n_support: int
    tol: float
    rounding_floor: float
    on_margin: float
    feasibility: float = 0.0
    convex_objective: float = float("nan")
    duality_gap: float = float("nan")
    local_minimizer: str = "undecided"
    curvature: float = float("nan")
    escape_direction: Array | None = None
    counts: dict[str, int] = field(default_factory=dict)
    sample_status: Array | None = None
    notes: tuple[str, ...] = ()

    @property
    def residual(self) -> float:
        """The largest of the four residuals."""
        return max(self.stationarity, self.balance, self.feasibility, self.prox_residual)

    @property
    def relative_duality_gap(self) -> float:
        """The duality gap as a share of the objective."""
        return self.duality_gap / self.objective if self.objective > 0.0 else self.duality_gap

    @property
    def certified(self) -> bool:
        """Whether the residual is within the tolerance, or as small as rounding allows."""
        return self.residual <= max(self.tol, self.rounding_floor)

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._lines())
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        verdict = f"certified (residual <= {max(self.tol, self.rounding_floor):.1e})"
        lines = [
            ("P-stationary", verdict if self.certified else f"NOT {verdict}"),
            ("  stationarity", f"{self.stationarity:.2e}"),
            ("  balance", f"{self.balance:.2e}"),
            ("  feasibility", f"{self.feasibility:.2e}"),
            ("  prox", f"{self.prox_residual:.2e}  (nu = {self.nu:.4g})"),
            ("  for nu in", f"(0, {self.nu_max:.4g}]" if self.nu_max > 0.0 else "(none)"),
            ("local minimiser", self.local_minimizer + self._curvature_text()),
            ("objective", f"{self.objective:.8g}"),
            ("  constant classifier", f"{self.trivial_objective:.8g}"),
        ]
        if not math.isnan(self.convex_objective):
            lines.append(("  convex start", f"{self.convex_objective:.8g}"))
        if not math.isnan(self.duality_gap):
            share = f"{self.duality_gap:.2e}  ({self.relative_duality_gap:.1e} of the objective)"
            lines.append(("  duality gap", share))
        lines.append(("support vectors", f"{self.n_support}"))
        lines += [(f"  {name.replace('_', ' ')}", str(k)) for name, k in self.counts.items()]
        return lines + [("note", note) for note in self.notes]

    def _curvature_text(self) -> str:
        return "" if math.isnan(self.curvature) else f"  (curvature {self.curvature:.3g})"


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
    on_margin: float = 1e-9,
    max_dimension: int = 2000,
) -> Certificate:
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
    max_dimension : int, default=2000
        The largest dimension for the second-order verdict; see `second_order_verdict`.

    Returns
    -------
    Certificate
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
    point = check_point(
        X,
        y,
        coef,
        intercept,
        multipliers,
        C=C,
        loss=loss,
        sample_weight=sample_weight,
        regularizer=regularizer,
        fit_intercept=fit_intercept,
    )
    if nu is not None and not (np.isfinite(nu) and nu > 0.0):
        raise ValueError(f"nu must be positive and finite (or None), got {nu!r}.")
    if not (np.isfinite(on_margin) and on_margin >= 0.0):
        raise ValueError(f"on_margin must be finite and not negative, got {on_margin!r}.")
    return _certify(point, nu, tol, second_order, on_margin, max_dimension)


def _certify(
    point: Point,
    nu: float | None,
    tol: float,
    second_order: bool,
    on_margin: float,
    max_dimension: int,
) -> Certificate:
    summary, samples, status = summarise(point, nu, on_margin)
    certificate = conclude(
        point,
        summary,
        lambda: samples.verdict(max_dimension) if second_order else Verdict("undecided"),
        nu=nu,
        tol=tol,
        sample_status=status,
    )
    return replace(certificate, duality_gap=duality_gap(point, certificate.objective))


def conclude(
    point: Point,
    summary: Summary,
    verdict_of: Callable[[], Verdict],
    *,
    nu: float | None = None,
    tol: float = 1e-3,
    sample_status: Array | None = None,
) -> Certificate:
    """Return the certificate of a point from the summary of its samples.

    Of `point` only what is common to all samples is looked at, and a few rows of its operator.
    `verdict_of` is asked for the second order if the point is stationary.
    """
    gradient = point.regularizer.dot(point.w) + summary.pull
    scale = 1.0 + math.sqrt(summary.square_norm)
    stationarity = float(np.linalg.norm(gradient)) / (1.0 + float(np.linalg.norm(point.w)))
    mass = summary.support_mass / point.C
    balance = abs(summary.signed_sum) / (1.0 + mass) if point.fit_intercept else 0.0
    at_default = math.sqrt(summary.square_errors) / scale
    floor = _rounding_floor(point, summary, scale)
    stationary = max(stationarity, balance, at_default) <= max(tol, floor)
    verdict = Verdict("undecided", note="" if stationary else "the point is not stationary")
    if stationary:
        verdict = verdict_of()
    return Certificate(
        stationarity=stationarity,
        balance=balance,
        prox_residual=math.sqrt(summary.square_errors_at_nu) / scale,
        nu=default_nu(point) if nu is None else float(nu),
        nu_max=summary.largest_nu if stationary else 0.0,
        objective=point.regularizer.energy(point.w) + summary.loss,
        trivial_objective=_trivial_objective(point, summary),
        n_support=len(summary.support),
        tol=tol,
        rounding_floor=floor,
        on_margin=summary.margin_width,
        local_minimizer=verdict.local_minimizer,
        curvature=verdict.curvature,
        escape_direction=verdict.direction,
        sample_status=sample_status,
        counts={kind.name.lower(): int(summary.counts[kind]) for kind in SampleStatus},
        notes=(verdict.note,) if verdict.note else (),
    )


def _trivial_objective(point: Point, summary: Summary) -> float:
    """Return the objective of the best constant classifier: w = 0 and the best b (0 if fixed)."""
    if not point.fit_intercept:
        return float(point.loss.value(1.0)) * summary.penalty
    total, difference = summary.penalty, summary.signed_penalty
    return point.loss.best_constant(0.5 * (total + difference), 0.5 * (total - difference))[0]


def _rounding_floor(point: Point, summary: Summary, scale: float) -> float:
    """Estimate the residual that rounding alone causes, from the lengths of a few rows.

    Of a sum of k terms about (8 + sqrt(k)) eps times the sum of their sizes is not known: that
    is applied to N' psi, and to the violations of which the prox residual is made.
    """
    eps = float(np.finfo(np.float64).eps)
    m, support = point.operator.shape[0], summary.support
    size = float(np.linalg.norm(point.w))
    pulled = summary.multiplier_sum
    if len(support) > 0:
        pulled *= _typical_length(point.operator, _spread(support))
    gradient = (8.0 + math.sqrt(len(support))) * eps * pulled / (1.0 + size)
    everywhere = np.linspace(0, m - 1, SAMPLED_ROWS).astype(np.intp)
    products = _typical_length(point.operator, everywhere) * size + abs(point.b)
    violations = 8.0 * eps * products * math.sqrt(m) / scale
    return max(gradient, violations)


def _spread(rows: Array) -> Array:
    some: Array = rows[np.linspace(0, len(rows) - 1, SAMPLED_ROWS).astype(np.intp)]
    return some


def _typical_length(operator: Operator, rows: Array) -> float:
    """Return the root mean square length of some rows."""
    gram = operator.take(rows).kernel(np.ones(operator.shape[1]))
    return math.sqrt(float(np.trace(gram)) / len(rows))
