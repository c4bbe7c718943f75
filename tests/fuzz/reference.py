"""What a fit is judged by: objectives and rival points that know nothing of any solver."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC

from tests.fuzz.cases import Case

# Products in extended precision up to so many values.
EXTENDED = 200_000
EPS = float(np.finfo(float).eps)
# From slightly to greatly stretched.
MULTIPLES = np.exp(np.linspace(-6.0, 8.0, 120))
# Above so many scores, multiples are tried one by one.
MANY = 20_000
UNBALANCED = ("HingeSVC", "PinballSVC", "LeastSquaresSVC")


@dataclass(frozen=True)
class Loss:
    """A loss, written down from its definition alone: `kind`, knee, cap (or tau)."""

    kind: str
    cap: float = math.inf
    knee: float = 2.0 / 3.0
    tau: float = 0.0

    @classmethod
    def of(cls, case: Case) -> Loss:
        """Return the loss of an estimator."""
        params = case.params
        if case.estimator in ("HTSVC", "ht_path", "KernelHTSVC", "MultiViewHTSVC"):
            return cls("hybrid", params.get("cap", 1.0), params.get("knee", 2.0 / 3.0))
        if case.estimator == "RampSVC":
            return cls("ramp", params.get("ceiling", 2.0))
        if case.estimator == "PinballSVC":
            return cls("pinball", tau=params.get("tau", 0.5))
        return cls({"HingeSVC": "ramp", "LeastSquaresSVC": "squares"}.get(case.estimator, "01"))

    @property
    def convex(self) -> bool:
        """Whether it is convex."""
        return self.kind in ("pinball", "squares") or (self.kind != "01" and math.isinf(self.cap))

    @property
    def slope(self) -> float:
        """The slope behind zero: the factor of C in the convex problem."""
        return 2.0 / (1.0 + self.knee) if self.kind == "hybrid" else 1.0

    def __call__(self, q: np.ndarray) -> np.ndarray:
        """Return the loss at the violations q."""
        if self.kind == "pinball":
            return np.maximum(q, -self.tau * q)
        if self.kind == "squares":
            return q * q
        if self.kind == "01":
            return (q > 1e-6).astype(q.dtype)
        h = np.maximum(q, 0)
        if self.kind == "ramp":
            return np.minimum(h, self.cap)
        if math.isinf(self.cap):
            return self.slope * h
        u = np.minimum(h / self.cap, 1)
        t = self.knee
        return self.cap * np.where(u <= t, self.slope * u, 1 - (1 - u) ** 2 / (1 - t * t))

    def derivative(self, q: np.ndarray) -> np.ndarray:
        """Return the slope right of q: that of the convex loss which touches this one at q > 0."""
        h = np.maximum(q, 0)
        if math.isinf(self.cap):
            return np.full(h.shape, self.slope, dtype=h.dtype)
        if self.kind == "ramp":
            return (h < self.cap).astype(h.dtype)
        u = np.minimum(h / self.cap, 1)
        t = self.knee
        return np.where(u <= t, self.slope, 2 * (1 - u) / (1 - t * t))

    def above(self, q: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return how far the tangent of a given slope lies above the loss at q.

        Only where the loss is curved, at q and where it has that slope; elsewhere infinity.
        """
        out = np.full(q.shape, np.inf, dtype=q.dtype)
        if self.kind != "hybrid" or math.isinf(self.cap):
            return out
        t = self.knee
        curved = (q > t * self.cap) & (q < self.cap) & (slope >= 0.0) & (slope <= self.slope)
        at = self.cap * (1 - slope[curved] * (1 - t * t) / 2)
        out[curved] = self(at) + slope[curved] * (q[curved] - at) - self(q[curved])
        return out


@dataclass(frozen=True, eq=False)
class Side:
    """One problem of a fit: penalties and, for a binary one, labels -1 and +1 (else codes)."""

    X: np.ndarray
    y: np.ndarray
    penalty: np.ndarray
    loss: Loss
    intercept: bool
    classes: int = 2

    @property
    def several(self) -> bool:
        """Whether it is one problem of several classes."""
        return self.classes > 2

    def violations(self, scores: np.ndarray) -> np.ndarray:
        """Return the violations for scores, of shape (m,) or (m, classes)."""
        if not self.several:
            return 1 - self.y * scores
        rows = np.arange(len(self.y))
        own = scores[rows, self.y]
        rivals = scores.copy()
        rivals[rows, self.y] = -np.inf
        return 1 + rivals.max(axis=1) - own

    def scores(self, w: Any, b: Any) -> np.ndarray:
        """Return X w + b, in extended precision where that is affordable."""
        kind = np.longdouble if self.X.size <= EXTENDED else np.float64
        values = self.X.astype(kind) @ np.asarray(w, dtype=kind).T + np.asarray(b, dtype=kind)
        return values[:, 0] if values.ndim == 2 and not self.several else values

    def objective(self, w: Any, b: Any) -> float:
        """Return the objective at a point."""
        q = self.violations(self.scores(w, b))
        w = np.asarray(w, dtype=np.longdouble).ravel()
        return float(np.sum(w * w) / 2 + np.sum(self.penalty * self.loss(q)))

    def rounding(self, w: Any, b: Any) -> float:
        """Return what evaluating the objective in double precision may be off by."""
        W = np.atleast_2d(w)
        sizes = np.abs(self.X) @ np.abs(W).T + np.abs(np.atleast_1d(b))
        top = sizes.max(axis=1)
        steep = 1.0 + (top if self.loss.kind == "squares" else 0.0)
        slope = 0.0 if self.loss.kind == "01" else 2.0
        return float(np.sum(self.penalty * slope * steep * top) * EPS * (8 + self.X.shape[1]))

    def constant(self) -> float:
        """Return the objective of the best constant classifier that a grid of intercepts finds."""
        if self.several:
            total = math.fsum(self.penalty) * float(self.loss(np.ones(1))[0])
            if not self.intercept:
                return total
            mass = [math.fsum(self.penalty[self.y == j]) for j in range(self.classes)]
            rest = math.fsum(sorted(mass)[:-1])
            return min(total, float(self.loss(np.full(1, 2.0))[0]) * rest)
        positive = math.fsum(self.penalty[self.y > 0])
        negative = math.fsum(self.penalty[self.y < 0])
        b = np.zeros(1)
        if self.intercept:
            edge = [0.0, 1.0, -1.0]
            if math.isfinite(self.loss.cap):
                edge += [self.loss.cap - 1.0, 1.0 - self.loss.cap]
            b = np.concatenate([edge, np.linspace(-1.5, 1.5, 601)])
            if self.loss.kind == "squares":
                b = np.append(b, (positive - negative) / (positive + negative))
        return float(np.min(positive * self.loss(1 - b) + negative * self.loss(1 + b)))


def sides(case: Case) -> list[Side]:
    """Return the problems that a fit consists of, one or one per class."""
    X, loss = case.values().astype(float), Loss.of(case)
    k = len(np.unique(case.y))
    weights = np.ones(len(case.y)) if case.weights is None else case.weights.astype(float)
    mass = np.bincount(case.y, weights=weights, minlength=k)
    if case.params.get("class_weight") == "balanced":
        factor = np.divide(mass.sum() / k, mass, out=np.zeros(k), where=mass > 0.0)
        given = weights * factor[case.y]
    else:
        given = weights
    C, intercept = case.params.get("C", 1.0), case.params.get("fit_intercept", True)
    if k == 2:
        return [Side(X, 2 * case.y - 1, C * given, loss, intercept)]
    joint = case.estimator in ("HTSVC", "ht_path", "KernelHTSVC") and (
        case.params.get("multi_class", "auto") != "ovr" and case.params.get("solver") != "admm"
    )
    if joint:
        return [Side(X, case.y, C * given, loss, intercept, k)]
    found = []
    for j in range(k):
        y = np.where(case.y == j, 1, -1)
        factor = np.ones(len(y))
        if case.estimator not in UNBALANCED:
            for side in (-1, 1):
                own = float(weights[y == side].sum())
                factor[y == side] = 0.5 * weights.sum() / own if own > 0.0 else 0.0
        found.append(Side(X, y, C * given * factor, loss, intercept))
    return found


def rivals(case: Case, side: Side) -> dict[str, tuple[Any, Any]]:
    """Return points of other software: (coef, intercept) by name. They need not be optimal."""
    counted = side.penalty > 0.0
    X, y = side.X[counted], side.y[counted]
    if len(np.unique(y)) < max(2, side.classes if side.several else 2):
        return {}
    top = float(side.penalty.max())
    weights = side.penalty[counted] / top
    C = float(np.clip(case.params.get("C", 1.0), 1e-6, 1e6))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = _fitted(X, y, weights, C, side)
        if not side.several and len(y) <= 200 and side.intercept:
            svc = SVC(kernel="linear", C=side.loss.slope * top, max_iter=5000, cache_size=10)
            try:
                svc.fit(X, y, sample_weight=weights)
                # Cut off early it is a direction like others.
                name = "convex" if svc.n_iter_.max() < svc.max_iter else "SVC"
                found[name] = (svc.coef_, svc.intercept_)
            except ValueError:
                pass
    return {
        name: point
        for name, point in found.items()
        if np.all(np.isfinite(point[0])) and np.all(np.isfinite(point[1]))
    }


def _fitted(X: Any, y: Any, weights: Any, C: float, side: Side) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    targets = y if not side.several else np.eye(side.classes)[y]
    for alpha in (1.0, 1.0 / C):
        model = Ridge(alpha=alpha, fit_intercept=side.intercept)
        try:
            model.fit(X, targets, sample_weight=weights)
            found[f"Ridge({alpha:g})"] = (model.coef_, model.intercept_)
        except (ValueError, np.linalg.LinAlgError):
            pass
    for model in (
        LinearSVC(C=C, max_iter=200, fit_intercept=side.intercept),
        LogisticRegression(C=C, max_iter=50, fit_intercept=side.intercept),
    ):
        try:
            model.fit(X, y, sample_weight=weights)
            found[type(model).__name__] = (model.coef_, model.intercept_)
        except (ValueError, np.linalg.LinAlgError):
            pass
    return found


def lowest_multiple(side: Side, w: Any, b: Any) -> tuple[float, float]:
    """Return the lowest objective at a multiple of a point, and the multiple."""
    w = np.asarray(w, dtype=float)
    scores = np.asarray(side.scores(w, b), dtype=float)
    energy = float(np.sum(w * w)) / 2.0
    size = float(np.median(np.abs(scores))) or 1.0
    multiples = np.concatenate([[1.0], MULTIPLES / size, MULTIPLES])
    if scores.size > MANY:
        values = np.array([_stretched(side, scores, t) for t in multiples])
    elif side.several:
        values = np.array([_stretched(side, scores, t) for t in multiples[::4]])
        multiples = multiples[::4]
    else:
        losses = side.loss(1.0 - multiples[:, None] * (side.y * scores)[None, :])
        values = losses @ side.penalty
    values = values + multiples**2 * energy
    best = int(values.argmin())
    return float(values[best]), float(multiples[best])


def _stretched(side: Side, scores: np.ndarray, multiple: float) -> float:
    return float(side.penalty @ side.loss(side.violations(multiple * scores)))
