"""Fit a case and judge the result; every complaint names its oracle."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from htsvm.exceptions import DroppedViewWarning
from tests.fuzz.cases import LINEAR, Case
from tests.fuzz.reference import Loss, Side, lowest_multiple, rivals, sides

# A fit may be above a rival point by this share, and differ so much from its twin.
SHARE = 1e-3
# Seconds of the processor that a fit of less than ten thousand values may take.
SLOW, SMALL = 5.0, 10_000
# Nothing is waited for longer than this: seconds of the processor, and so many times as many of
# the clock, for what sleeps.
PATIENCE, ASLEEP = 60.0, 20.0
# Values and weights from here on may be refused.
HUGE, HUGE_WEIGHT = 1e100, 1e14


@dataclass
class Outcome:
    """What became of a case.

    Attributes
    ----------
    verdict : str
        "certified", "warned" or "refused"; "crashed" for any other exception.
    complaints : dict
        What is wrong, by the name of the oracle.
    valleys : set
        The complaints that say: a minimum, but there is a lower one.
    fits : int
        How many fits were made to find out.
    seconds : float
        The time that the processor took for the first.
    model : object
        The fitted model.
    """

    verdict: str
    seconds: float = 0.0
    fits: int = 1
    model: Any = None
    complaints: dict[str, str] = field(default_factory=dict)
    valleys: set[str] = field(default_factory=set)

    @property
    def slow(self) -> bool:
        """Whether it took too long."""
        return "slow" in self.complaints

    @property
    def valley(self) -> bool:
        """Whether a lower point of a loss that is not convex is known: another valley."""
        return any(name in self.valleys for name in self.complaints)

    @property
    def wrong(self) -> bool:
        """Whether anything else is wrong but the time."""
        return any(name not in ("slow", "overdue", *self.valleys) for name in self.complaints)


def certificates(model: Any) -> list[Any]:
    """Return all certificates of a model; those of views are lists of lists."""
    found = getattr(model, "certificate_", [])
    found = found if isinstance(found, list) else [found]
    return [c for one in found for c in (one if isinstance(one, list) else [one])]


class Overdue(BaseException):
    """A fit was given up."""


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Give up what takes longer, where signals can be had: on Unix, in the main thread."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable:
        yield
        return

    def stop(*_: Any) -> None:
        raise Overdue

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, ASLEEP * seconds),
    )
    before = [signal.signal(number, stop) for number, *_ in timers]
    for _, timer, most in timers:
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(number, handler)


def fit(case: Case) -> Outcome:
    """Fit a case and say what became of it, without judging the point."""
    model, X = case.model(), case.data()
    options = {} if case.weights is None else {"sample_weight": case.in_blocks(case.weights)}
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with no_longer_than(PATIENCE):
                model.fit(X, case.in_blocks(case.labels()), **options)
        except Overdue:
            kind = "slow" if case.X.size < SMALL else "overdue"
            return Outcome("overdue", PATIENCE, complaints={kind: f"over {PATIENCE:.0f} s"})
        except ValueError as error:
            outcome = Outcome("refused", time.process_time() - started)
            if not may_be_refused(case):
                outcome.complaints["refused"] = str(error)
            return outcome
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            return Outcome("crashed", time.process_time() - started, complaints={"crash": text})
    outcome = Outcome("certified", time.process_time() - started, model=model)
    kinds = [w.category for w in caught]
    if not all(c.certified for c in certificates(model)):
        outcome.verdict = "warned"
        # A view that was left out is named by a warning of its own.
        if not {ConvergenceWarning, DroppedViewWarning} & set(kinds):
            outcome.complaints["silent"] = "not certified, and no ConvergenceWarning"
    elif ConvergenceWarning in kinds:
        outcome.verdict = "warned"
    numeric = [w for w in caught if w.category is RuntimeWarning]
    if numeric:
        outcome.complaints["numeric"] = str(numeric[0].message)
    if case.X.size < SMALL and outcome.seconds > SLOW:
        outcome.complaints["slow"] = f"{outcome.seconds:.1f} s"
    return outcome


def may_be_refused(case: Case) -> bool:
    """Whether a ValueError is the right answer."""
    if case.weights is not None:
        mass = np.bincount(case.y, weights=case.weights)
        if np.sum(mass > 0.0) < 2 or np.any(case.weights > HUGE_WEIGHT):
            return True
        if case.estimator not in LINEAR and np.any(mass == 0.0):
            return True
    if len(np.unique(case.y)) < 2 or np.any(np.abs(case.X) > HUGE):
        return True
    # Mostly not positive semidefinite.
    if case.params.get("kernel") == "sigmoid":
        return True
    # Folds need two samples of each class.
    return case.estimator.endswith("CV") and np.bincount(case.y).min() < 2


def judge(case: Case, relations: Iterable[str] = ()) -> Outcome:
    """Fit a case, look at the point, and compare with twins by some of `RELATIONS`."""
    outcome = fit(case)
    if outcome.model is None:
        return outcome
    if case.estimator in LINEAR:
        _look_at_point(case, outcome)
    elif case.estimator == "HTSVCCV":
        # The final fit is one of HTSVC with what was chosen, and stays near least squares.
        chosen = {"C": outcome.model.C_, "cap": outcome.model.cap_, "starts": ["least_squares"]}
        _look_at_point(replace(case, estimator="HTSVC", params=chosen), outcome)
    elif hasattr(outcome.model, "decision_function"):
        values = outcome.model.decision_function(case.data())
        if not np.all(np.isfinite(values)):
            outcome.complaints["finite"] = "decisions are not finite"
    for relation in relations:
        _compare(case, outcome, relation)
    return outcome


# ------------------------------------------------------------------------------- the point


def _look_at_point(case: Case, outcome: Outcome) -> None:
    model, complaints = outcome.model, outcome.complaints
    if not (np.all(np.isfinite(model.coef_)) and np.all(np.isfinite(model.intercept_))):
        complaints["finite"] = "coef_ or intercept_ is not finite"
        return
    for j, side in enumerate(sides(case)):
        w, b = _part(model, side, j)
        objective = side.objective(w, b)
        slack = side.rounding(w, b)
        stated, certificate = float(model.objective_[j]), certificates(model)[j]
        if abs(stated - objective) > 1e-6 * objective + 2.0 * slack and side.loss.kind != "01":
            complaints["objective"] = f"objective_ is {stated:.9g}, in truth {objective:.9g}"
        if stated != certificate.objective:
            complaints["objective"] = (
                f"objective_ {stated!r}, certificate {certificate.objective!r}"
            )
        constant = side.constant()
        if objective > (1.0 + SHARE) * constant + slack:
            complaints["constant"] = f"{objective:.9g}, best constant {constant:.9g}"
        if outcome.verdict != "certified":
            continue
        _below_rivals(case, side, objective, slack, outcome)
        if not side.several and side.loss.kind in ("hybrid", "ramp") and hasattr(model, "support_"):
            _multipliers(case, side, model, j, objective, slack, complaints)


def _part(model: Any, side: Side, j: int) -> tuple[Any, Any]:
    if side.several:
        return model.coef_, model.intercept_
    return model.coef_[j], float(model.intercept_[j])


def _below_rivals(case: Case, side: Side, objective: float, slack: float, outcome: Outcome) -> None:
    share = max(SHARE, 1.01 * case.params.get("tol", 1e-3))
    for name, (w, b) in rivals(case, side).items():
        reached, multiple = lowest_multiple(side, w, b)
        if name == "convex":
            reached = min(reached, side.objective(w, b))
        reached += side.rounding(multiple * np.asarray(w), multiple * np.asarray(b))
        kind = "convex" if name == "convex" else "direction"
        if kind == "direction" and not _searches(case):
            continue
        if objective > (1.0 + share) * reached + slack:
            text = f"{objective:.9g}, {name} reaches {reached:.9g}"
            if side.loss.convex:
                kind = "optimum"
            else:
                outcome.valleys.add(kind)
            outcome.complaints.setdefault(kind, text)


def _searches(case: Case) -> bool:
    """Whether other starts than the convex solution are asked for."""
    return "starts" not in case.params and case.params.get("solver") != "admm"


def _multipliers(
    case: Case,
    side: Side,
    model: Any,
    j: int,
    objective: float,
    slack: float,
    complaints: dict[str, str],
) -> None:
    """Look at the two halves of the duality gap of the convex problem that touches this one."""
    w, b = _part(model, side, j)
    alpha = np.zeros(len(side.y), dtype=np.longdouble)
    alpha[model.support_] = model.dual_coef_[j] * side.y[model.support_]
    given = alpha.copy()
    if side.intercept:
        # Only multipliers that are balanced bound a gap; they are so up to the tolerance.
        mass = [np.sum(alpha[side.y == s]) for s in (-1, 1)]
        for s, own in zip((-1, 1), mass, strict=True):
            alpha[side.y == s] *= min(mass) / own if own > 0.0 else 1.0
    pull = (alpha * side.y) @ side.X.astype(np.longdouble)
    q = side.violations(side.scores(w, b))
    tol = case.params.get("tol", 1e-3 if case.estimator in ("HTSVC", "RampSVC") else 1e-4)
    # Violations are known up to the tolerance, and slopes may change quickly there.
    near = 2.0 * max(tol, 1e-6) * (1.0 + np.abs(q))
    low, high = (side.penalty * side.loss.derivative(q + d) for d in (near, -near))
    bound = np.where(q > 0.0, np.clip(alpha, low, high), low)
    terms = bound * np.maximum(q, 0) - alpha * q
    # Or the problem touches where the slope is the multiplier: what it lies above the loss counts.
    above = side.loss.above(q, alpha / np.maximum(side.penalty, 1e-300))
    some = np.isfinite(above)
    terms[some] = np.minimum(terms[some], (side.penalty * np.where(some, above, 0))[some])
    unit = objective * max(tol, 1e-6) * 10.0 + 10.0 * slack
    gap = float(np.sum((w - pull) ** 2) / 2 + np.sum(terms))
    if gap > unit:
        complaints["gap"] = f"gap {gap:.3g} of objective {objective:.6g}"
    if not side.loss.convex:
        # Of a convex loss a gap is all that is promised.
        alpha = given
    steepest = side.loss.slope * side.penalty
    outside = np.max(np.maximum(alpha - steepest, -alpha) / (steepest + 1e-300))
    if outside > max(10.0 * tol, 1e-6):
        complaints["bounds"] = f"a multiplier is out of bounds by the share {float(outside):.3g}"
    gross = float(np.sum(np.abs(alpha)))
    if side.intercept and abs(float(np.sum(alpha * side.y))) > 3.0 * max(tol, 1e-6) * gross:
        complaints["balance"] = f"sum of multipliers {float(np.sum(alpha * side.y)):.3g}"


# ------------------------------------------------------------------------------- twins

RELATIONS: dict[str, Callable[[Case, np.random.Generator], Case | None]] = {}


def _relation(function: Callable[[Case, np.random.Generator], Case | None]) -> Any:
    RELATIONS[function.__name__] = function
    return function


@_relation
def form(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case as another kind of matrix."""
    if case.form == "float32" or "n_landmarks" in case.params:
        return None
    return case.changed(form="dense" if case.form in ("csr", "csc") else "csr")


@_relation
def copies(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case with repeated samples in place of whole weights."""
    if case.estimator.endswith("CV") or "n_landmarks" in case.params or "C" not in case.params:
        return None
    if case.weights is None:
        # Other penalties of multi-view models would have to be halved too.
        if not (case.linear or case.estimator == "KernelHTSVC"):
            return None
        twice = np.repeat(np.arange(len(case.y)), 2)
        half = {"C": case.params["C"] / 2.0}
        return case.changed(X=case.X[twice], y=case.y[twice], params=half)
    if np.any(case.weights != np.round(case.weights)) or case.weights.max() > 10.0:
        return None
    kept = np.repeat(np.arange(len(case.y)), case.weights.astype(int))
    if len(np.unique(case.y[kept])) < len(np.unique(case.y)):
        return None
    return case.changed(X=case.X[kept], y=case.y[kept], weights=None)


@_relation
def blocks(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case as a Dask array of two blocks."""
    if case.estimator != "HTSVC" or case.form != "dense" or len(case.y) < 4:
        return None
    several = len(np.unique(case.y)) > 2
    return None if several or "solver" in case.params else case.changed(form="dask")


@_relation
def names(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case with words for labels, in the same order."""
    return case.changed(words=True)


@_relation
def units(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case with X in other units and C to match."""
    if "C" not in case.params or not case.linear or case.estimator == "ZeroOneSVC":
        return None
    # In single precision tenths of numbers are other numbers: columns that nearly cancel are then
    # another problem.
    factors = [0.25, 4.0] if case.form == "float32" else [0.25, 4.0, 0.1, 10.0]
    a = float(rng.choice(factors))
    return case.changed(X=case.X * a, params={"C": case.params["C"] / a**2})


@_relation
def factor(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case with all weights times a number, and C divided by it."""
    if "C" not in case.params or not case.linear:
        return None
    k = float(rng.choice([0.125, 8.0, 3.0]))
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    return case.changed(weights=k * weights, params={"C": case.params["C"] / k})


@_relation
def order(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the case with its rows in another order."""
    if case.estimator.endswith("CV") or "n_landmarks" in case.params:
        return None
    turned = rng.permutation(len(case.y))
    weights = None if case.weights is None else case.weights[turned]
    return case.changed(X=case.X[turned], y=case.y[turned], weights=weights)


@_relation
def again(case: Case, rng: np.random.Generator) -> Case | None:
    """Return the same case: a fit can be repeated; several classes with two threads."""
    threads = len(np.unique(case.y)) > 2 and case.estimator != "ht_path"
    return case.changed(params={"n_jobs": 2} if threads else {})


def _compare(case: Case, outcome: Outcome, relation: str) -> None:
    rng = np.random.default_rng(len(case.y))
    twin = RELATIONS[relation](case, rng)
    if twin is None or outcome.verdict == "refused":
        return
    other = fit(twin)
    outcome.fits += 1
    for name, text in other.complaints.items():
        outcome.complaints.setdefault(name, f"(twin by {relation}) {text}")
    if other.model is None or "warned" in (outcome.verdict, other.verdict):
        return
    mine, its = (np.ravel(getattr(o.model, "objective_", [])) for o in (outcome, other))
    if relation == "units":
        its = its * (case.params["C"] / twin.params["C"])
    if mine.shape != its.shape:
        return
    slack = np.zeros(len(mine))
    if case.linear:
        slack = np.array(
            [s.rounding(*_part(outcome.model, s, j)) for j, s in enumerate(sides(case))]
        )
    apart = np.abs(mine - its) - 2.0 * slack
    share = max(SHARE, 2.0 * case.params.get("tol", 1e-3))
    if np.any(apart > share * np.minimum(mine, its)):
        outcome.complaints[f"twin {relation}"] = f"objective {mine}, twin {its}"
        if not (case.linear and Loss.of(case).convex):
            outcome.valleys.add(f"twin {relation}")
