"""One run of the ADMM: its phases, its iteration and what it records."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.admm.safeguards import (
    bounded_penalty,
    check_safeguards,
    convex_penalty,
    single_valued_penalty,
    split,
    within_reach,
)
from htsvm.solvers.admm.state import Measures, Splitting, State
from htsvm.solvers.admm.system import RidgeSystem
from htsvm.solvers.history import History
from htsvm.solvers.result import SolverResult

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
