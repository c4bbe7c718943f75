"""One run of the ADMM: its phases, its iteration and what it records."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge, Loss
from htsvm.optimality import residuals
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.admm.system import RidgeSystem
from htsvm.solvers.result import History, SolverResult

SAFEGUARDS: dict[str, str] = {
    "convex-start": (
        "Start from a rough solution of the convex problem whose loss is the hinge with the "
        "loss's slope at zero. The printed start is a small disturbance of w = 0, b = 0, which is "
        "itself a fixed point, and leads to points no better than a constant classifier."
    ),
    "majorize": (
        "Split with the prox of the hinge majoriser at the last reference point (each sample's "
        "penalty times the loss's slope there) instead of the prox of the loss, and move the "
        "reference point whenever the current majoriser is nearly solved. Every majoriser is a "
        "convex problem, for which ADMM converges with any penalty; the true objective falls from "
        "one reference point to the next, and the fixed points are the stationary points. The "
        "non-convex prox cycles where it jumps (C / xi > 5/18) and creeps where it does not. "
        "Needs a loss with a profile; without one it is left out, with a note."
    ),
    "guarded-set": (
        "Update w over the working set and every sample that the step could bring into it: those "
        "within reach, the largest move of a violation in the last step. If a step moves a sample "
        "further than that, it is taken again with a wider guard, in the end over all rows, which "
        "is plain ADMM. Multipliers of guarded samples are kept. The printed w-step has no such "
        "guard (its proximal matrix is negative semidefinite): it overshoots, and samples leave "
        "and re-enter the working set for ever; plain ADMM over all rows creeps."
    ),
    "joint-intercept": (
        "Solve for w and b together. In turns, b moves by a share |F| / m of what it should."
    ),
    "working-set-intercept": (
        "Update b by the mean over the working set, as the code of the 0/1-loss method does, "
        "instead of over all samples. Faster than the printed rule but more often trivial; not "
        "in the default set, and it excludes 'joint-intercept'."
    ),
    "bounded-penalty": (
        "Treat xi as a proposal: bring it into [1/2, 2] times C, the scale of the multipliers. "
        "Far below, nothing converges; far above, steps are so short that the rule holds far from "
        "a solution. (Balancing residuals, tried first, drove xi to 1e4 C.) Without 'majorize' xi "
        "also stays above the value from which on the prox of the loss is single-valued. The "
        "stopping rule is evaluated at that value: the smallest penalty, so the strictest rule, "
        "that a sample in the transition zone can pass."
    ),
    "sparse-finish": (
        "Before stopping, set multipliers outside the working set of the loss's own prox to zero, "
        "and stop only if stationarity, balance and prox residual, recomputed at the violations, "
        "still pass, if need be after a few steps over that set; otherwise go on to half the "
        "tolerance. A run that uses up its iterations this way returns its last point that passed "
        "with all multipliers, with a note. Acts only with 'guarded-set': otherwise those "
        "multipliers are zero anyway."
    ),
    "non-empty": (
        "Halve the penalty while the working set is empty, which would end the run at w = 0. "
        "Acts only without 'guarded-set', whose first step is over all rows."
    ),
    "keep-best": (
        "A run that ends above a point that it passed through, such as its convex start, goes on "
        "from there; if that does not help, or the run does not converge, it returns the iterate "
        "with the smallest true objective, not the last one."
    ),
    "reject-trivial": (
        "A run that ends no better than the best constant classifier is repeated from an accurate "
        "convex start; if that fails too, the constant classifier is returned, with a note."
    ),
}

DEFAULT_SAFEGUARDS = tuple(name for name in SAFEGUARDS if name != "working-set-intercept")

# How far above the weak-convexity limit the penalty of the stopping rule lies.
LIMIT_MARGIN = 1.25
if TYPE_CHECKING:
    from htsvm.solvers.admm.solver import ADMM

# The convex start is solved this well, and each majoriser at first.
ROUGH = 1e-2
# The most iterations spent on one majoriser.
MAJORISER_PATIENCE = 100
# Steps over the working set tried before stopping.
FINISH_STEPS = 6
# How often the penalty may be halved to find a working set that is not empty.
MOST_HALVINGS = 30
# Go back to the lowest point of a run that ends this share above it.
WORTH_RETURNING = 1e-3
# How much wider the guard around the working set becomes when a step went beyond it.
WIDEN = 4.0


@dataclass
class ADMMRun:
    """One call of `ADMM.solve`."""

    options: ADMM
    problem: Problem
    notes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    convex_objective: float = float("nan")
    best: tuple[float, Array, float, Array] = (np.inf, np.zeros(0), 0.0, np.zeros(0))
    n_iter: int = 0

    def __post_init__(self) -> None:
        self.guards = check_safeguards(self.options.safeguards)
        self.system = RidgeSystem(self.problem)
        self.history = History(self.options.callback)
        self.passes_before = self.problem.operator.passes
        self.weight = self.problem.penalty / self.problem.C
        self.measures = Measures(self.problem, printed=not self.guards)
        self.seconds = {"system": 0.0}
        loss = self.problem.loss
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
        converged, state = self._attempt(start, ROUGH)
        budget_left = 0 < self.n_iter < self.options.max_iter
        if "reject-trivial" in self.guards and budget_left and self._is_trivial(state):
            self.notes.append("No better than a constant classifier: repeated from the hinge.")
            self.guards |= {"convex-start"}
            converged, state = self._attempt(None, self.options.tol)
        if self._passed_lower(state) and self.n_iter < self.options.max_iter:
            self.notes.append("Went on from the lowest point, which the run had left.")
            _, w, b, psi = self.best
            converged, state = self._main_phase(self._state_at(w, b, psi))
        return self._result(converged, state)

    def _passed_lower(self, state: State) -> bool:
        """Return whether the run has seen a point clearly below the one where it ended."""
        if "keep-best" not in self.guards:
            return False
        reached = self.problem.objective(state.w, state.violations)
        return self.best[0] < (1.0 - WORTH_RETURNING) * reached

    def _attempt(self, start: Start | None, convex_tol: float) -> tuple[bool, State]:
        m, n = self.problem.n_samples, self.problem.n_features
        if start is not None:
            w, b, psi = start
            scaled = np.zeros(m) if psi is None else psi / self.weight
            state = self._state_at(np.array(w, dtype=float), float(b), scaled)
        elif "convex-start" in self.guards:
            state = self._convex_phase(self._state_at(np.zeros(n), 0.0, np.zeros(m)), convex_tol)
            self.convex_objective = self.problem.objective(state.w, state.violations)
        else:
            state = self._state_at(np.full(n, 0.01), 0.0, np.zeros(m))
        return self._main_phase(state)

    def _state_at(self, w: Array, b: float, psi: Array) -> State:
        d = self.problem.violations(w, b)
        return State(w, b, psi, d, self.options.penalty, d, d, np.zeros(len(d), dtype=bool))

    # -- phases ---------------------------------------------------------------------------------

    def _convex_phase(self, state: State, tol: float) -> State:
        """Solve the hinge problem that lies above the true one."""
        penalty = convex_penalty(self.problem)
        splitting = Splitting(Hinge(), penalty, True, self.problem.fit_intercept)
        if "bounded-penalty" in self.guards:
            state.xi = bounded_penalty(self.problem, state.xi)
        self._prepare(state, splitting)
        for _ in range(self.options.max_iter // 2):
            if self.n_iter >= self.options.max_iter:
                break
            self._iterate(state, splitting)
            self._record(state, splitting, "convex")
            if self._inner_residual(state) < tol:
                break
        return state

    def _main_phase(self, state: State) -> tuple[bool, State]:
        guards, spent, passed = self.guards, 0, None
        with_intercept = "joint-intercept" in guards and self.problem.fit_intercept
        guarded = "guarded-set" in guards
        finishing = guarded and "sparse-finish" in guards
        splitting = Splitting(self.problem.loss, self.problem.C, guarded, with_intercept)
        if self.majorize:
            self._move_majoriser(state, splitting)
        if "bounded-penalty" in guards:
            lower = 0.0 if self.majorize else single_valued_penalty(self.problem)
            state.xi = max(bounded_penalty(self.problem, state.xi), lower)
        self._prepare(state, splitting)
        accuracy, threshold = ROUGH, self.options.tol
        while self.n_iter < self.options.max_iter:
            self._iterate(state, splitting)
            spent += 1
            if self._record(state, splitting, "main") < threshold:
                if not finishing or self._finish(state):
                    return True, state
                threshold *= 0.5
                passed = replace(state, xi=self._stop_penalty(state))
            solved = self._inner_residual(state) < accuracy or spent >= MAJORISER_PATIENCE
            if self.majorize and solved:
                self._move_majoriser(state, splitting)
                self._prepare(state, splitting)
                accuracy, spent = max(0.5 * accuracy, threshold), 0
        if passed is None or not self._certified(passed, sparse=False):
            return False, state
        self.notes.append("Stopped with small multipliers left outside the working set.")
        self._close(passed)
        return True, passed

    def _finish(self, state: State) -> bool:
        """Make the multipliers zero outside the working set of the true prox, if the rule allows.

        First by dropping those outside; then, if the rule does not hold, by steps over that set.
        """
        loss, C = self.problem.loss, self.problem.C
        splitting = Splitting(loss, C, False, self.problem.fit_intercept)
        trial = replace(state, xi=self._stop_penalty(state))
        self._prepare(trial, splitting)
        trial.psi = np.where(trial.working, trial.psi, 0.0)
        for _ in range(FINISH_STEPS):
            if self._certified(trial, sparse=True):
                break
            xi, psi, q = trial.xi, trial.psi, trial.next_q
            target = 1.0 - q - psi / xi
            self._update_classifier(trial, splitting, trial.working, target, (trial.w, trial.b))
            trial.psi = np.where(trial.working, psi + xi * (q - trial.violations), 0.0)
            self._prepare(trial, splitting)
        else:
            return False
        vars(state).update(vars(trial))
        self._close(state)
        return True

    def _close(self, state: State) -> None:
        """Record the point that is returned, with q := 1 - Nw - by."""
        state.q = state.violations
        splitting = Splitting(self.problem.loss, self.problem.C, True, True)
        self._prepare(state, splitting)
        self.n_iter += 1
        self._record(state, splitting, "finish")

    def _certified(self, state: State, sparse: bool) -> bool:
        """Return whether the stopping rule holds at q := 1 - Nw - by.

        With multipliers of all rows, and if `sparse` also with those of the working set alone.
        """
        problem, q, measures = self.problem, state.violations, self.measures
        after, working = split(problem.loss, problem.C, q, state.psi, state.xi)
        residuals = [*measures.pull(state.w, state.psi, working), measures.relative(q - after, q)]
        residuals.append(measures.complementarity(state.w, q, state.psi))
        if sparse:
            residuals += measures.pull(state.w, np.where(working, state.psi, 0.0), working)
        return max(residuals) < self.options.tol

    # -- one iteration --------------------------------------------------------------------------

    def _prepare(self, state: State, splitting: Splitting) -> None:
        """Set the next q and the working set of the state."""
        state.next_q, state.working = split(
            splitting.loss, splitting.penalty, state.violations, state.psi, state.xi
        )

    def _fill_working_set(self, state: State, splitting: Splitting) -> None:
        """Halve the penalty until the working set is not empty, if that helps at all."""
        trial = replace(state)
        for _ in range(MOST_HALVINGS):
            trial.xi *= 0.5
            self._prepare(trial, splitting)
            if trial.working.any():
                state.xi, state.next_q, state.working = trial.xi, trial.next_q, trial.working
                return

    def _iterate(self, state: State, splitting: Splitting) -> None:
        """Advance the state by one iteration of the ADMM."""
        if not (splitting.guarded or state.working.any()) and "non-empty" in self.guards:
            self._fill_working_set(state, splitting)
        xi, psi, q, before = state.xi, state.psi, state.next_q, state.violations
        target = 1.0 - q - psi / xi
        guess = (state.w, state.b)
        while True:
            entering = state.working
            if splitting.guarded:
                p = before - psi / xi
                entering = state.working | within_reach(
                    splitting.loss, splitting.penalty, p, xi, state.reach
                )
            self._update_classifier(state, splitting, entering, target, guess)
            moved = np.abs(state.violations - before)
            beyond = float(moved[~entering].max(initial=0.0))
            if not splitting.guarded or entering.all() or not beyond > state.reach:
                break
            state.reach = WIDEN * max(state.reach, 1e-3 * beyond)
        state.reach = float(moved.max(initial=0.0))
        state.psi = psi + self.options.dual_step * xi * (q - state.violations)
        state.psi[~entering] = 0.0
        state.q = q
        self._prepare(state, splitting)
        self.n_iter += 1

    def _update_classifier(
        self,
        state: State,
        splitting: Splitting,
        entering: Array,
        target: Array,
        guess: tuple[Array, float],
    ) -> None:
        """Set w, b and the violations of the state."""
        problem, xi = self.problem, state.xi
        rows = None if entering.all() else np.flatnonzero(entering)
        began = time.perf_counter()
        if splitting.with_intercept:
            state.w, state.b = self.system.solve(rows, xi, target, True, guess)
        else:
            shifted = target - guess[1] * problem.y
            state.w, state.b = self.system.solve(rows, xi, shifted, False, guess)
        self.seconds["system"] += time.perf_counter() - began
        state.violations = problem.violations(state.w, state.b if splitting.with_intercept else 0.0)
        if problem.fit_intercept and not splitting.with_intercept:
            wished = problem.y * (state.violations - 1.0 + target)
            counted = self.weight
            if "working-set-intercept" in self.guards:
                counted = np.where(state.working, counted, 0.0)
            if counted.any():
                state.b = float(np.average(wished, weights=counted))
            state.violations -= state.b * problem.y

    def _move_majoriser(self, state: State, splitting: Splitting) -> None:
        """Let the hinge majoriser touch the loss at the violations of the state."""
        slopes = np.empty(self.problem.n_samples)
        unit = np.full(self.problem.n_samples, self.problem.C)
        self.problem.loss.slopes(state.violations, unit, slopes)
        splitting.loss, splitting.penalty = Hinge(), slopes

    # -- what is measured -----------------------------------------------------------------------

    def _stop_penalty(self, state: State) -> float:
        """Return the penalty at which the stopping rule is evaluated."""
        limit = single_valued_penalty(self.problem)
        return limit if limit > 0.0 and "bounded-penalty" in self.guards else state.xi

    def _inner_residual(self, state: State) -> float:
        """Return the larger of feasibility and change of q, for the splitting in force."""
        return max(
            self.measures.feasibility(state),
            self.measures.relative(state.q - state.next_q, state.q),
        )

    def _record(self, state: State, splitting: Splitting, phase: str) -> float:
        """Add a row to the history and return the printed criterion, the largest residual."""
        problem, psi = self.problem, state.psi
        working, after = state.working, state.next_q
        xi = self._stop_penalty(state)
        if splitting.loss is not problem.loss or xi != state.xi:
            after, working = split(problem.loss, self.problem.C, state.violations, psi, xi)
        counted = psi if splitting.guarded else np.where(working, psi, 0.0)
        stationarity, balance = self.measures.pull(state.w, counted, working)
        size = int(np.count_nonzero(working))
        feasibility = self.measures.feasibility(state)
        prox_residual = self.measures.relative(state.q - after, state.q)
        residual = max(stationarity, balance, feasibility, prox_residual)
        objective = problem.objective(state.w, state.violations)
        accuracy = float(np.average(state.violations < 1.0, weights=self.weight))
        if objective < self.best[0]:
            self.best = (objective, state.w, state.b, psi)
        self.history.add(
            phase=phase, objective=objective, residual=residual, stationarity=stationarity,
            balance=balance, feasibility=feasibility, prox_residual=prox_residual,
            working_set=size, penalty=state.xi, train_accuracy=accuracy,
        )  # fmt: skip
        return residual

    # -- the end --------------------------------------------------------------------------------

    def _is_trivial(self, state: State) -> bool:
        reached = self.problem.objective(state.w, state.violations)
        return reached >= (1.0 - 1e-9) * self.problem.trivial()[0]

    def _result(self, converged: bool, state: State) -> SolverResult:
        w, b, psi = state.w, state.b, state.psi
        objective = self.problem.objective(w, state.violations)
        lower = self._passed_lower(state)
        converged = converged and not lower
        if not converged:
            self.notes.append(f"Not converged after {self.n_iter} iterations.")
            safer = "" if self.guards else "the default safeguards of the ADMM solver, "
            self.advice.append(
                f"Try solver='newton', or a larger max_iter, {safer}another penalty (the paper's "
                "xi), or features of similar ranges."
            )
            if "keep-best" in self.guards and self.best[0] < objective:
                objective, w, b, psi = self.best
                self.notes.append("Returned the iterate with the smallest objective, not the last.")
        rejected, (trivial, constant) = False, self.problem.trivial()
        if objective >= (1.0 - 1e-9) * trivial:
            self.notes.append(
                f"Trivial: objective {objective:.6g} is not below {trivial:.6g}, that of the best "
                "constant classifier. Try a larger C or balanced class weights."
            )
            if "reject-trivial" in self.guards:
                objective, w, b, psi = trivial, np.zeros_like(w), constant, np.zeros_like(psi)
                rejected = True
        residuals = self.history.columns.get("residual", [])
        total = self.history.seconds
        seconds = {**self.seconds, "other": total - self.seconds["system"], "total": total}
        return SolverResult(
            coef=w, intercept=b, multipliers=psi * self.weight, objective=objective,
            convex_objective=self.convex_objective, converged=converged,
            residual=residuals[-1] if residuals else float("inf"), n_iter=self.n_iter,
            passes=self.problem.operator.passes - self.passes_before,
            history=self.history.columns, seconds=seconds, constant=rejected,
            notes=self.notes, advice=self.advice,
        )  # fmt: skip


@dataclass
class State:
    """The iterate, and what the next iteration will take from it.

    `psi` holds multipliers per unit of weight.
    """

    w: Array
    b: float
    psi: Array
    violations: Array
    xi: float
    q: Array
    next_q: Array
    working: Array
    reach: float = np.inf


@dataclass
class Splitting:
    """The loss and penalties whose prox is in force, and how w and b are updated."""

    loss: Loss
    penalty: Array | float
    guarded: bool
    with_intercept: bool


class Measures:
    """The four residuals of the stopping rule, with weights counted as repetitions.

    They are those of the paper. What they are divided by is as printed only for the printed
    algorithm; with any safeguard it is what all solvers use, see `htsvm.optimality.residuals`.
    """

    def __init__(self, problem: Problem, printed: bool) -> None:
        self.problem, self.printed = problem, printed
        self.weight = problem.penalty / problem.C

    def pull(self, w: Array, psi: Array, working: Array) -> tuple[float, float]:
        """Return the first two residuals: those of ||Rw + N'psi|| and |y'psi|."""
        problem = self.problem
        weighted = self.weight * psi
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
        return (
            residuals.of_gradient(own, -pull, gross * problem.operator.row_length),
            residuals.balance(balance, gross),
        )

    def complementarity(self, w: Array, q: Array, psi: Array) -> float:
        """Return what the multipliers miss of the loss, relative to the objective.

        The paper's rule has nothing of the kind; without it a large penalty passes far from a
        solution. Where the loss bends, its slope is as good as the multiplier.
        """
        problem = self.problem
        loss, penalty = problem.loss, problem.penalty
        if self.printed or "profile" not in loss.abilities:
            return 0.0
        straight = q <= loss.curved_interval[0]
        slopes = np.empty(len(q))
        loss.slopes(q, penalty, slopes)
        alpha = loss.tilt * penalty - self.weight * psi
        missing = np.abs(np.where(q > 0.0, slopes, 0.0) - alpha)
        slack = float(missing[straight] @ np.abs(q[straight]))
        return residuals.complementarity(slack, problem.objective(w, q))

    def norm(self, vector: Array) -> float:
        """Return the Euclidean norm in which a sample of weight k counts k times."""
        return float(np.sqrt(self.weight @ np.square(vector)))

    def relative(self, vector: Array, reference: Array) -> float:
        """Return the length of a change of the violations, relative to theirs."""
        if self.printed:
            return self.norm(vector) / (1.0 + self.norm(reference))
        size = float(self.weight @ (1.0 + np.square(reference)))
        return residuals.violation(self.norm(vector) ** 2, size)

    def feasibility(self, state: State) -> float:
        """Return the third printed residual, ||q - 1 + Nw + by|| / sqrt(m)."""
        return self.norm(state.q - state.violations) / float(np.sqrt(self.weight.sum()))


def check_safeguards(names: Iterable[str]) -> frozenset[str]:
    """Return the names as a set; raise ValueError for unknown or incompatible ones."""
    chosen = frozenset((names,) if isinstance(names, str) else names)
    unknown = sorted(chosen - set(SAFEGUARDS))
    if unknown:
        raise ValueError(
            f"safeguards holds unknown names {unknown}; known are {sorted(SAFEGUARDS)}, "
            "() runs the algorithm as printed."
        )
    if {"joint-intercept", "working-set-intercept"} <= chosen:
        raise ValueError(
            "safeguards holds both 'joint-intercept' and 'working-set-intercept': "
            "two rules for the same b; leave one out."
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


def convex_penalty(problem: Problem) -> float:
    """Return the hinge penalty of the convex start: C times the slope of the loss at zero.

    A loss without a profile, or with an infinite slope, counts as one of slope 1.
    """
    slope = 1.0
    if "profile" in problem.loss.abilities:
        at_zero = float(problem.loss.profile_slope(0.0))
        slope = at_zero if math.isfinite(at_zero) else 1.0
    return slope * problem.C


def single_valued_penalty(problem: Problem) -> float:
    """Return the smallest penalty used with the prox of a weakly convex loss; 0 if no limit."""
    limit = LIMIT_MARGIN * problem.loss.weak_convexity * problem.C
    return limit if math.isfinite(limit) else 0.0


def bounded_penalty(problem: Problem, xi: float) -> float:
    """Return xi brought into [1/2, 2] times C."""
    return float(np.clip(xi, 0.5 * problem.C, 2.0 * problem.C))


def within_reach(loss: Loss, penalty: Array | float, p: Array, xi: float, reach: float) -> Array:
    """Return the mask of the samples that a move of p by at most `reach` brings into play."""
    if not math.isfinite(reach):
        return np.ones(len(p), dtype=bool)
    up, down = p + reach, p - reach
    moved: Array = (loss.prox(up, penalty / xi) != up) | (loss.prox(down, penalty / xi) != down)
    return moved
