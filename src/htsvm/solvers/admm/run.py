"""Algorithm 1 of the paper: its steps as printed, and what the safeguards do around them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge, Loss
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.api import Solver
from htsvm.solvers.result import History, SolverResult
from htsvm.solvers.system import RidgeSystem

# What each safeguard does; `SAFEGUARDS` has the texts by name.
_TEXTS = """\
convex-start: Start from a rough solution of the problem with a hinge of the loss's slope at zero.
    The printed start is near w = 0, b = 0, a fixed point, and leads to trivial points.
majorize: Take the prox of the hinge majoriser at a reference point (each sample's penalty times the
    loss's slope there) instead of that of the loss, and move the reference point when the majoriser
    is nearly solved. Majorisers are convex, so that ADMM converges with any penalty; the objective
    falls from one reference point to the next; the fixed points are the stationary points. The
    non-convex prox cycles where it jumps (C / xi > 5/18) and creeps where it does not. Needs a loss
    with a profile; else left out, with a note.
guarded-set: Update w over the working set and all samples that the step could bring into it: those
    within the largest move of a violation in the last step. A step that moves others further is
    repeated with a wider guard, in the end over all rows, which is plain ADMM. Multipliers of
    guarded samples are kept. The printed step, whose proximal matrix is negative semidefinite,
    overshoots: samples leave and re-enter for ever.
joint-intercept: Solve for w and b together. In turns, b moves by a share |F| / m of what it should.
bounded-penalty: Bring xi into [1/2, 2] times C, the scale of the multipliers: far below nothing
    converges, far above steps are so short that the rule holds far from a solution. (Balancing
    residuals drove xi to 1e4 C.) Without 'majorize' xi also stays where the prox of the loss is
    single-valued. The rule is evaluated at the smallest such value, where it is the strictest that
    a sample in the transition zone can pass.
sparse-finish: Stop only if the rule, recomputed at the violations, still holds with multipliers of
    zero outside the working set of the loss's own prox, if need be after a few steps over that set;
    otherwise go on to half the tolerance. A run that never gets there returns its last point that
    passed with all multipliers, with a note. Acts only with 'guarded-set': otherwise those
    multipliers are zero anyway.
keep-best: A run that ends above a point that it passed, such as its convex start, goes on from
    there; if that does not help, or does not converge, the lowest iterate is returned.
reject-trivial: A run that ends no better than the best constant classifier is repeated from an
    accurate convex start; if that fails too, the constant classifier is returned, with a note.
"""
SAFEGUARDS: dict[str, str] = {
    name: " ".join(text.split())
    for name, text in re.findall(r"^(\S+): (.*(?:\n .*)*)", _TEXTS, flags=re.M)
}
DEFAULT_SAFEGUARDS = tuple(SAFEGUARDS)

# How far above the weak-convexity limit the penalty of the stopping rule lies.
LIMIT_MARGIN = 1.25
# The convex start is solved this well, and each majoriser at first, in so many iterations at most.
ROUGH, MAJORISER_PATIENCE = 1e-2, 100
# Steps over the working set tried before stopping.
FINISH_STEPS = 6
# Go back to the lowest point of a run that ends this share above it.
WORTH_RETURNING = 1e-3
# What is not lower by this share is no better than a constant classifier.
BETTER = 1.0 - 1e-9
# How much wider the guard around the working set becomes when a step went beyond it.
WIDEN = 4.0


@dataclass(frozen=True)
class ADMM(Solver):
    r"""Alternating directions for q + Nw + by = 1, with N = diag(y) X.

    With ``safeguards=()`` this is Algorithm 1 of the paper to the letter: start w = 1/100, b = 0,
    psi = 0; then in turn the working set F, q by the prox, w over F, b as a mean over all
    samples, psi over F and zero elsewhere; stop when the four printed residuals are below `tol`.
    On real data that rarely converges, and then mostly to a constant classifier. The default
    safeguards keep the splitting and the stopping rule and repair the rest; each is described in
    `htsvm.solvers.admm.run.SAFEGUARDS` and can be left out.

    Parameters
    ----------
    penalty : float, default=1.0
        The paper's xi = 1/nu; with the safeguard "bounded-penalty" only the initial one.
    dual_step : float, default=1.0
        The paper's tau, in (0, (1 + sqrt(5)) / 2).
    tol : float, default=1e-3
        The bound of the stopping rule.
    max_iter : int, default=1000
        The most iterations, all phases together.
    safeguards : tuple of str
        Names from `SAFEGUARDS`.
    callback : callable, optional
        Called after each iteration with its row of the history, a dict.

    Notes
    -----
    Works with any loss that has a prox. A sample of weight k (its penalty is k C) counts exactly
    like k samples: it has its own xi, k times the common one, so that C / xi is the same for all.
    Samples of weight zero are left out.
    """

    penalty: float = 1.0
    dual_step: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    safeguards: tuple[str, ...] = DEFAULT_SAFEGUARDS
    callback: Callable[[dict[str, Any]], object] | None = None

    requires: ClassVar[tuple[str, ...]] = ("prox",)
    refines: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_safeguards(self.safeguards)
        if not 0.0 < self.penalty < np.inf:
            raise ValueError(f"penalty must be positive and finite, got {self.penalty!r}.")
        if not 0.0 < self.dual_step < (1.0 + np.sqrt(5.0)) / 2.0:
            raise ValueError(
                f"dual_step must lie strictly between 0 and 1.618, got {self.dual_step!r}."
            )

    def solve(self, problem: Problem, *, start: Start | None = None) -> SolverResult:
        """Solve `problem`.

        Parameters
        ----------
        problem : Problem
            What to solve.
        start : tuple of (w, b, psi), optional
            Where to start instead of the safeguards' or the printed start; psi may be None.

        Returns
        -------
        SolverResult
            If it did not converge, `converged` is False and `notes` says what to try.
        """
        self.check_loss(problem.loss)
        rows = np.flatnonzero(problem.penalty > 0.0)
        if len(rows) == problem.n_samples:
            return ADMMRun(self, problem).solve(start)
        if start is not None and start[2] is not None:
            start = (start[0], start[1], start[2][rows])
        result = ADMMRun(self, problem.take(rows)).solve(start)
        multipliers = np.zeros(problem.n_samples)
        multipliers[rows] = result.multipliers
        result.multipliers = multipliers
        return result


@dataclass
class ADMMState:
    """The point (w, b, q, psi), the splitting in force, and the next q and working set.

    `psi` has multipliers per unit of weight, `violations` are 1 - Nw - by. The prox is that of
    `loss` times `penalty` over `xi`. w is updated over more than the working set if `guarded`, and
    together with b if `joint`. `reach` is the largest move of a violation in the last step.
    """

    w: Array
    b: float
    psi: Array
    xi: float
    violations: Array
    q: Array
    loss: Loss
    penalty: Array | float
    guarded: bool = True
    joint: bool = False
    reach: float = math.inf
    next_q: Array = field(init=False)
    working: Array = field(init=False)

    def __post_init__(self) -> None:
        self.split()

    def split(self) -> None:
        """Set the next q and working set: lines 4 and 5 of Algorithm 1."""
        self.next_q, self.working = split(
            self.loss, self.penalty, self.violations, self.psi, self.xi
        )


class ADMMRun:
    """One call of `ADMM.solve`: as many iterations as its history has rows."""

    def __init__(self, options: ADMM, problem: Problem) -> None:
        self.options, self.problem = options, problem
        self.guards = check_safeguards(options.safeguards)
        # Residuals are divided as printed only without safeguards.
        self.printed = not self.guards
        self.system, self.seconds = RidgeSystem(problem), 0.0
        self.history = History(options.callback)
        self.passes_before = problem.operator.passes
        self.weight = problem.penalty / problem.C
        self.notes: list[str] = []
        self.convex_objective = math.nan
        self.best = (math.inf, np.zeros(0), 0.0, np.zeros(0))
        loss = problem.loss
        # The smallest penalty used with the prox of a weakly convex loss; 0 if there is no limit.
        limit = LIMIT_MARGIN * loss.weak_convexity * problem.C
        self.single_valued = limit if math.isfinite(limit) else 0.0
        self.majorize = (
            "majorize" in self.guards and "profile" in loss.abilities and loss.tilt == 0.0
        )
        if "majorize" in self.guards and not self.majorize:
            self.notes.append(f"'majorize' left out: {loss!r} has no concave profile.")

    def solve(self, start: Start | None) -> SolverResult:
        """Run all phases and return the result."""
        if self.problem.n_samples == 0:
            return SolverResult(
                np.zeros(self.problem.n_features), 0.0, np.zeros(0), 0.0, converged=True,
                residual=0.0, notes=["No sample has a positive weight."],
            )  # fmt: skip
        converged, at = self._attempt(start, ROUGH)
        if (
            "reject-trivial" in self.guards
            and 0 < len(self.history) < self.options.max_iter
            and self._objective(at) >= BETTER * self.problem.trivial()[0]
        ):
            self.notes.append("No better than a constant classifier: repeated from the hinge.")
            self.guards |= {"convex-start"}
            converged, at = self._attempt(None, self.options.tol)
        if self._passed_lower(at) and len(self.history) < self.options.max_iter:
            self.notes.append("Went on from the lowest point, which the run had left.")
            converged, at = self._main_phase(self._at(*self.best[1:]))
        return self._result(converged, at)

    def _at(self, w: Array, b: float, psi: Array) -> ADMMState:
        d, problem = self.problem.violations(w, b), self.problem
        return ADMMState(w, b, psi, self.options.penalty, d, d, problem.loss, problem.C)

    def _objective(self, at: ADMMState) -> float:
        return self.problem.objective(at.w, at.violations)

    def _passed_lower(self, at: ADMMState) -> bool:
        """Return whether the run has seen a point clearly below the one where it ended."""
        reached = (1.0 - WORTH_RETURNING) * self._objective(at)
        return "keep-best" in self.guards and self.best[0] < reached

    # -- phases ---------------------------------------------------------------------------------

    def _attempt(self, start: Start | None, convex_tol: float) -> tuple[bool, ADMMState]:
        """Go from a start, that of the safeguards or the printed one, to the end."""
        psi, n = np.zeros(self.problem.n_samples), self.problem.n_features
        if start is not None:
            psi = psi if start[2] is None else start[2] / self.weight
            return self._main_phase(self._at(np.array(start[0], dtype=float), float(start[1]), psi))
        if "convex-start" not in self.guards:
            return self._main_phase(self._at(np.full(n, 0.01), 0.0, psi))
        at = self._convex_phase(self._at(np.zeros(n), 0.0, psi), convex_tol)
        self.convex_objective = self._objective(at)
        return self._main_phase(at)

    def _convex_phase(self, at: ADMMState, tol: float) -> ADMMState:
        """Solve the problem with the hinge of the loss's slope at zero; of slope 1 without one."""
        loss, slope = self.problem.loss, 1.0
        if "profile" in loss.abilities and math.isfinite(at_zero := float(loss.profile_slope(0.0))):
            slope = at_zero
        at.loss, at.penalty, at.joint = Hinge(), slope * self.problem.C, self.problem.fit_intercept
        self._bound_penalty(at, 0.0)
        at.split()
        for _ in range(min(self.options.max_iter // 2, self.options.max_iter - len(self.history))):
            self._iterate(at)
            self._record(at, "convex")
            if self._inner_residual(at) < tol:
                break
        return at

    def _main_phase(self, at: ADMMState) -> tuple[bool, ADMMState]:
        """Iterate until the stopping rule holds; return whether it does, and where."""
        problem = self.problem
        at.loss, at.penalty, at.guarded = problem.loss, problem.C, "guarded-set" in self.guards
        at.joint = "joint-intercept" in self.guards and problem.fit_intercept
        if self.majorize:
            self._move_majoriser(at)
        self._bound_penalty(at, 0.0 if self.majorize else self.single_valued)
        at.split()
        spent, passed = 0, None
        accuracy, threshold = ROUGH, self.options.tol
        while len(self.history) < self.options.max_iter:
            self._iterate(at)
            spent += 1
            if self._record(at, "main") < threshold:
                if not (at.guarded and "sparse-finish" in self.guards):
                    return True, at
                # The true problem, split over its working set.
                passed = replace(
                    at, xi=self._stop_penalty(at), loss=problem.loss, penalty=problem.C,
                    guarded=False, joint=problem.fit_intercept,
                )  # fmt: skip
                finished = self._sparse(passed)
                if finished is not None:
                    return True, self._closed(finished)
                threshold *= 0.5
            solved = self._inner_residual(at) < accuracy or spent >= MAJORISER_PATIENCE
            if self.majorize and solved:
                self._move_majoriser(at)
                at.split()
                accuracy, spent = max(0.5 * accuracy, threshold), 0
        if passed is None or not self._certified(passed, sparse=False):
            return False, at
        self.notes.append("Stopped with small multipliers left outside the working set.")
        return True, self._closed(passed)

    def _bound_penalty(self, at: ADMMState, least: float) -> None:
        if "bounded-penalty" in self.guards:
            C = self.problem.C
            at.xi = max(float(np.clip(at.xi, 0.5 * C, 2.0 * C)), least)

    def _move_majoriser(self, at: ADMMState) -> None:
        """Let the hinge majoriser touch the loss at the violations."""
        slopes = np.empty(self.problem.n_samples)
        unit = np.full(self.problem.n_samples, self.problem.C)
        self.problem.loss.slopes(at.violations, unit, slopes)
        at.loss, at.penalty = Hinge(), slopes

    def _sparse(self, passed: ADMMState) -> ADMMState | None:
        """Return a point near by without multipliers outside the working set; None if none passes.

        First they are dropped; then, if the rule does not hold, steps over that set are taken.
        """
        at = replace(passed)
        at.psi = np.where(at.working, at.psi, 0.0)
        for _ in range(FINISH_STEPS):
            if self._certified(at, sparse=True):
                return at
            xi, psi, q = at.xi, at.psi, at.next_q
            self._update_w_and_b(at, at.working, 1.0 - q - psi / xi, (at.w, at.b))
            at.psi = np.where(at.working, psi + xi * (q - at.violations), 0.0)
            at.split()
        return None

    def _closed(self, at: ADMMState) -> ADMMState:
        """Record the point that is returned, with q := 1 - Nw - by."""
        at = replace(at, q=at.violations, guarded=True)
        self._record(at, "finish")
        return at

    # -- one iteration --------------------------------------------------------------------------

    def _iterate(self, at: ADMMState) -> None:
        """Take one iteration of Algorithm 1, in its order; lines 4 and 5 end the one before."""
        # 4. F, the working set; with "guarded-set" also what may enter it. 5. q := prox(p).
        xi, psi, q, before = at.xi, at.psi, at.next_q, at.violations
        target, guess = 1.0 - q - psi / xi, (at.w, at.b)
        while True:
            entering = at.working
            if at.guarded:
                p = before - psi / xi
                entering = entering | within_reach(at.loss, at.penalty, p, xi, at.reach)
            # 6. w, by the linear system over F. 7. b, by a mean, or together with w.
            self._update_w_and_b(at, entering, target, guess)
            moved = np.abs(at.violations - before)
            beyond = float(moved[~entering].max(initial=0.0))
            if not at.guarded or entering.all() or not beyond > at.reach:
                break
            at.reach = WIDEN * max(at.reach, 1e-3 * beyond)
        at.reach = float(moved.max(initial=0.0))
        # 8. psi := psi + tau xi Lambda over F, and zero elsewhere.
        at.psi = psi + self.options.dual_step * xi * (q - at.violations)
        at.psi[~entering] = 0.0
        at.q = q
        at.split()

    def _update_w_and_b(
        self, at: ADMMState, entering: Array, target: Array, guess: tuple[Array, float]
    ) -> None:
        """Set w, b and the violations: w over the samples `entering`, b as printed or with w."""
        problem = self.problem
        began = time.perf_counter()
        # The paper's chi; with b solved for as well, without its term.
        chi = target if at.joint else target - guess[1] * problem.y
        weights = np.where(entering, at.xi * self.weight, 0.0)
        z = self.system.solve(weights, chi, with_intercept=at.joint, start=np.append(*guess))
        at.w, at.b = z[:-1].copy(), float(z[-1]) if at.joint else guess[1]
        self.seconds += time.perf_counter() - began
        at.violations = problem.violations(at.w, at.b if at.joint else 0.0)
        if problem.fit_intercept and not at.joint:
            wished = problem.y * (at.violations - 1.0 + target)
            at.b = float(np.average(wished, weights=self.weight))
            at.violations -= at.b * problem.y

    # -- what is measured -----------------------------------------------------------------------

    def _stop_penalty(self, at: ADMMState) -> float:
        """Return the penalty at which the stopping rule is evaluated."""
        bounded = self.single_valued > 0.0 and "bounded-penalty" in self.guards
        return self.single_valued if bounded else at.xi

    def _inner_residual(self, at: ADMMState) -> float:
        """Return the larger of feasibility and change of q, for the splitting in force."""
        return max(self._feasibility(at), self._relative(at.q - at.next_q, at.q))

    def _record(self, at: ADMMState, phase: str) -> float:
        """Add a row to the history and return the largest of the four residuals of the rule."""
        problem, working, after, xi = self.problem, at.working, at.next_q, self._stop_penalty(at)
        if at.loss is not problem.loss or xi != at.xi:
            after, working = split(problem.loss, problem.C, at.violations, at.psi, xi)
        counted = at.psi if at.guarded else np.where(working, at.psi, 0.0)
        stationarity, balance = self._pull(at.w, counted, working)
        rule = {
            "stationarity": stationarity, "balance": balance,
            "feasibility": self._feasibility(at),
            "prox_residual": self._relative(at.q - after, at.q),
        }  # fmt: skip
        residual, objective = max(rule.values()), self._objective(at)
        if objective < self.best[0]:
            self.best = (objective, at.w, at.b, at.psi)
        self.history.add(
            phase=phase, objective=objective, residual=residual, **rule,
            working_set=int(np.count_nonzero(working)), penalty=at.xi,
            train_accuracy=float(np.average(at.violations < 1.0, weights=self.weight)),
        )  # fmt: skip
        return residual

    def _certified(self, at: ADMMState, sparse: bool) -> bool:
        """Return whether the stopping rule holds at q := 1 - Nw - by.

        With multipliers of all rows, and if `sparse` also with those of the working set alone.
        """
        problem, q = self.problem, at.violations
        after, working = split(problem.loss, problem.C, q, at.psi, at.xi)
        found: tuple[float, ...] = self._pull(at.w, at.psi, working)
        if sparse:
            found += self._pull(at.w, np.where(working, at.psi, 0.0), working)
        return self.options.tol > max(
            *found, self._relative(q - after, q), self._complementarity(at)
        )

    def _pull(self, w: Array, psi: Array, working: Array) -> tuple[float, float]:
        """Return the paper's epsilon 1 and 2, those of ||Rw + N'psi|| and |y'psi|."""
        problem, weighted = self.problem, self.weight * psi
        share = float(np.count_nonzero(psi)) / len(psi)
        pull, balance = problem.operator.signed_tdot(problem.y, weighted, share)
        if not problem.fit_intercept:
            balance = 0.0
        own = problem.regularizer.dot(w)
        if self.printed:
            size, length = float(self.weight @ working), float(np.linalg.norm(w))
            off = float(np.linalg.norm(own + pull))
            return off / (1.0 + length), abs(balance) / (1.0 + size)
        gross = float(np.abs(weighted).sum())
        stationarity = residuals.of_gradient(own, -pull, gross * problem.operator.row_length)
        return stationarity, residuals.balance(balance, gross)

    def _feasibility(self, at: ADMMState) -> float:
        """Return the paper's epsilon 3, ||q - 1 + Nw + by|| / sqrt(m)."""
        return self._norm(at.q - at.violations) / float(np.sqrt(self.weight.sum()))

    def _relative(self, change: Array, q: Array) -> float:
        """Return the length of a change of q, relative to q: of q - prox(p) the epsilon 4."""
        if self.printed:
            return self._norm(change) / (1.0 + self._norm(q))
        return residuals.violation(
            self._norm(change) ** 2, float(self.weight @ (1.0 + np.square(q)))
        )

    def _norm(self, vector: Array) -> float:
        """Return the Euclidean norm in which a sample of weight k counts k times."""
        return float(np.sqrt(self.weight @ np.square(vector)))

    def _complementarity(self, at: ADMMState) -> float:
        """Return what the multipliers miss of the loss, relative to the objective.

        The paper's rule has nothing of the kind; without it a large penalty passes far from a
        solution. Where the loss bends, its slope is as good as the multiplier.
        """
        loss, penalty, q = self.problem.loss, self.problem.penalty, at.violations
        if self.printed or "profile" not in loss.abilities:
            return 0.0
        straight = q <= loss.curved_interval[0]
        slopes = np.empty(len(q))
        loss.slopes(q, penalty, slopes)
        alpha = loss.tilt * penalty - self.weight * at.psi
        missing = np.abs(np.where(q > 0.0, slopes, 0.0) - alpha)
        slack = float(missing[straight] @ np.abs(q[straight]))
        return residuals.complementarity(slack, self._objective(at))

    # -- the end --------------------------------------------------------------------------------

    def _result(self, converged: bool, at: ADMMState) -> SolverResult:
        """Return the point of the run that is worth most, and what there is to say."""
        objective, w, b, psi = self._objective(at), at.w, at.b, at.psi
        advice = []
        if not converged or self._passed_lower(at):
            converged = False
            self.notes.append(f"Not converged after {len(self.history)} iterations.")
            safer = "" if self.guards else "the default safeguards of the ADMM solver, "
            advice.append(
                f"Try solver='newton', or a larger max_iter, {safer}another penalty (the paper's "
                "xi), or features of similar ranges."
            )
            if "keep-best" in self.guards and self.best[0] < objective:
                objective, w, b, psi = self.best
                self.notes.append("Returned the iterate with the smallest objective, not the last.")
        trivial, constant = self.problem.trivial()
        rejected = False
        if objective >= BETTER * trivial:
            self.notes.append(
                f"Trivial: objective {objective:.6g} is not below {trivial:.6g}, that of the best "
                "constant classifier. Try a larger C or balanced class weights."
            )
            if "reject-trivial" in self.guards:
                objective, w, b, psi = trivial, np.zeros_like(w), constant, np.zeros_like(psi)
                rejected = True
        total = self.history.seconds
        return SolverResult(
            coef=w, intercept=b, multipliers=psi * self.weight, objective=objective,
            convex_objective=self.convex_objective, converged=converged,
            residual=self.history.columns.get("residual", [math.inf])[-1], n_iter=len(self.history),
            passes=self.problem.operator.passes - self.passes_before, constant=rejected,
            history=self.history.columns, notes=self.notes, advice=advice,
            seconds={"system": self.seconds, "other": total - self.seconds, "total": total},
        )  # fmt: skip


def check_safeguards(names: Iterable[str]) -> frozenset[str]:
    """Return the names as a set; raise ValueError for unknown ones."""
    chosen = frozenset((names,) if isinstance(names, str) else names)
    unknown = sorted(chosen - set(SAFEGUARDS))
    if unknown:
        raise ValueError(
            f"safeguards holds unknown names {unknown}; known are {sorted(SAFEGUARDS)}, "
            "() runs the algorithm as printed."
        )
    return chosen


def split(
    loss: Loss, penalty: Array | float, violations: Array, multipliers: Array, xi: float
) -> tuple[Array, Array]:
    """Return q = prox(p) at p = violations - multipliers / xi, and the working set as a mask.

    The working set holds the samples that the prox moves, and those exactly on the margin
    (p = 0). Where the prox has two values, a sample with a non-zero multiplier keeps to the
    smaller one and stays in the set, any other keeps to the larger one and stays out, which is
    the paper's rule for the boundaries of its sets T, J and I.
    """
    p = violations - multipliers / xi
    low, high = loss.prox_bounds(p, penalty / xi)
    q = np.where((low != high) & (multipliers == 0.0), high, low)
    return q, (q != p) | (p == 0.0)


def within_reach(loss: Loss, penalty: Array | float, p: Array, xi: float, reach: float) -> Array:
    """Return the mask of the samples that a move of p by at most `reach` brings into play."""
    if not math.isfinite(reach):
        return np.ones(len(p), dtype=bool)
    up, down = p + reach, p - reach
    moved: Array = (loss.prox(up, penalty / xi) != up) | (loss.prox(down, penalty / xi) != down)
    return moved
