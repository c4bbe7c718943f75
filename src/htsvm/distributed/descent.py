"""Descents on all blocks from a point that a sample leads to; their finish runs in the driver.

A search on a sample says where to go. Descents on sums over blocks lead there for all rows, the
kink of the loss rounded. Then the rows near its bends are gathered, with what all others add: a
linear function. Multipliers are found for these rows alone, and a pass over all rows says whether
the others stayed where the loss is straight.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from htsvm._typing import Array
from htsvm.distributed import blocks as ask
from htsvm.distributed.blocks import added, joint, parts_of, stacked
from htsvm.distributed.cluster import driver_values, sample_values
from htsvm.linalg.positive import solve_positive
from htsvm.losses.rounded import Rounded, rounded
from htsvm.optimality.residuals import balance, of_gradient
from htsvm.problems.binary import Rest
from htsvm.problems.coordinates import in_coordinates
from htsvm.solvers.finish import finish, unit_of
from htsvm.solvers.multiclass import finish as multiclass
from htsvm.solvers.result import History, SolverResult, continued
from htsvm.solvers.rows import Descent
from htsvm.solvers.system import FORMED

# How far the kink is rounded on blocks, in units of the loss; and where too many rows are near the
# bends of the last to be gathered.
WIDTHS, NARROWER = (0.15, 0.05), (0.015, 0.005, 0.0015, 0.0005)
# A descent ends where a step gains less than this share, or at this share of the tolerance.
GAIN, INNER = 1e-4, 0.1
# The most steps of a descent, its trials for each, and the share of the slope that they gain.
STEPS, TRIALS, DECREASE = 25, 20, 1e-4
# How near to a bend gathered rows are, in units of the loss: as far as a sample could be large, and
# farther if others come near.
REACHES = 2.0 ** np.arange(-2.0, 8.0)
# Where the objective is so many times that of the sample, which then says little of other rows,
# the solution without a cap leads as well, by way of these caps: as in the search.
ABOVE, CAPS = 1.1, (math.inf, 4.0, 2.0, 1.4)


class TooFar(Exception):
    """Rows that were not gathered would have come near a bend: what they add is not linear."""


class Multipliers:
    """The rows whose multipliers are not zero, with their psi or pulls, and labels."""

    def __init__(self, rows: Array, values: Array, y: Any = None) -> None:
        kept = np.flatnonzero(np.any(values != 0.0, axis=tuple(range(1, values.ndim))))
        kept = kept[np.argsort(rows[kept], kind="stable")]
        self.rows, self.values, self.y = rows[kept], values[kept], None if y is None else y[kept]

    def __mul__(self, factor: float) -> Multipliers:
        return Multipliers(self.rows, factor * self.values, self.y)

    __rmul__ = __mul__

    def at(self, rows: Array) -> Array:
        """Return the multipliers of some sorted rows."""
        found, kept = np.zeros((len(rows), *self.values.shape[1:])), np.isin(self.rows, rows)
        found[np.searchsorted(rows, self.rows[kept])] = self.values[kept]
        return found

    def table(self, rows: Array) -> Array:
        """Return the coefficients of some sorted rows, these among them, in the classifiers."""
        found = self.at(rows)
        if found.ndim > 1:
            return found.T
        signs = np.zeros(len(rows))
        signs[np.searchsorted(rows, self.rows)] = self.y
        return -(found * signs)[None]


def solve(problem: Any, options: Any, start: Any) -> SolverResult:
    """Return a stationary point of a problem on blocks: of the solver's search on a sample."""
    first = sample = None
    if start is None or (options.compare_warm and options.starts):
        sample = problem.sample(options.random_state)
        first = options.solve(sample, start=None if start is None else (*start[:2], None))
        points = [(first.coef, first.intercept, None), *([] if start is None else [start])]
        values = problem.objectives_at([point[:2] for point in points]) if start else [0.0]
        start = points[int(np.argmin(values))]
        # That of a sample is not an objective of the problem.
        first.convex_objective = math.nan
        first.history |= {name: [told] * first.n_iter for name, told in problem.traffic().items()}
    name = first.start if first else "warm"
    level = first.objective if first else math.inf
    finished = partial(_descended, sample=sample, level=level, options=options, name=name)
    result: SolverResult = in_coordinates(problem).solved(finished, start)
    return replace(continued(first, result), start=result.start) if first else result


def _descended(
    problem: Any, start: Any, sample: Any, level: float, options: Any, name: str
) -> SolverResult:
    """Return where descents on all rows lead; the level is the objective on the sample."""
    run = Run(problem, sample, level, options)
    objective, residual, z, multipliers = run.finished(joint(*start[:2]), start[2])
    trivial, b = problem.trivial()
    constant = not objective < trivial * (1.0 - 1e-9)
    if constant:
        name, objective, z = "constant", float(trivial), joint(0.0 * z[..., :-1], b)
        multipliers = 0.0 * multipliers
    w, b = parts_of(z)
    return SolverResult(
        coef=w, intercept=b, multipliers=multipliers, objective=objective, residual=residual,
        converged=residual <= options.tol, n_iter=len(run.history), history=run.history.columns,
        passes=problem.operator.passes - run.passes, constant=constant, start=name,
    )  # fmt: skip


class SmoothSums:
    """A smooth objective at a point: value, gradient, residual, Hessian of the loss."""

    def __init__(self, problem: Any, z: Array, stage: Rounded, formed: bool) -> None:
        reaches, w = REACHES * unit_of(problem), z[..., :-1]
        value, gradient, gross, self.hessian, self.near = problem.ask(
            ask.sums_of, z, stage, reaches, formed
        )
        problem.operator.count((3.0 + formed) * problem.n_scores)
        own = problem.regularizer.dot(w)
        self.value = float(value) + 0.5 * float(np.vdot(own, w))
        self.gradient = gradient + joint(own, 0.0 * z[..., -1])
        length, total = gross * problem.operator.row_length, np.linalg.norm(gradient[..., -1])
        stationarity = of_gradient(own, -gradient[..., :-1], length, problem.regularizer)
        self.residual = max(stationarity, balance(float(total), float(gross)))


class Run:
    """Descents on one problem: what they have in common is the history."""

    def __init__(self, problem: Any, sample: Any, level: float, options: Any) -> None:
        self.problem, self.sample, self.level, self.options = problem, sample, level, options
        self.history, self.passes = History(options.callback), problem.operator.passes
        self.tol, self.most = float(options.tol), min(STEPS, options.max_iter)
        self.formed = problem.n_scores == 1 and problem.n_features <= FORMED

    def record(self, **row: Any) -> None:
        """Write a row of the history."""
        if row["objective"] < 0.0:
            raise TooFar
        row["passes"] = self.problem.operator.passes - self.passes
        self.history.add(**{"start": "", "steps": 1, **row, **self.problem.traffic()})

    def at(self, z: Array, stage: Rounded) -> SmoothSums:
        """Return the sums at z, and note them."""
        here = SmoothSums(self.problem, z, stage, self.formed)
        self.record(width=stage.width, objective=here.value, residual=here.residual)
        return here

    def descend(self, z: Array, stage: Rounded, gain: float) -> tuple[Array, SmoothSums]:
        """Return where Newton steps on a smooth loss lead from z, and the sums there."""
        if not self.formed:
            return self.descend_without_system(z, stage, gain)
        here = self.at(z, stage)
        for _ in range(self.most):
            if here.residual <= INNER * self.tol:
                break
            direction, before, t = self.direction(here), here.value, 1.0
            slope = float(direction @ here.gradient)
            for _ in range(TRIALS):
                there = self.at(z + t * direction, stage)
                if there.value <= before + DECREASE * t * slope:
                    break
                # The lowest point of the parabola through what is known.
                t *= min(max(0.5 * t * slope / (before + t * slope - there.value), 0.1), 0.5)
            else:
                break
            z, here = z + t * direction, there
            if before - here.value <= gain * abs(here.value):
                break
        return z, here

    def direction(self, here: SmoothSums) -> Array:
        """Return the Newton direction."""
        g, side, H = here.gradient, self.problem.n_features, here.hessian.copy()
        self.problem.regularizer.add_to(H)
        if not self.problem.fit_intercept:
            return np.append(solve_positive(H[:side, :side], -g[:side]), 0.0)
        # Where no row is near the kink, the intercept has no curvature.
        H[-1, -1] += 1e-10 * (H[-1, -1] or 1e20 * (abs(float(g[-1])) or 1.0))
        return solve_positive(H, -g)

    def descend_without_system(
        self, z: Array, stage: Rounded, gain: float
    ) -> tuple[Array, SmoothSums]:
        """Return the same for several classes, and for rows of many columns, by L-BFGS."""
        problem, sample, scale = self.problem, self.sample, np.ones(z.shape[-1])
        if sample is not None:
            columns = problem.operator.columns
            sample = sample.in_columns(*columns) if columns else sample
            weights = sample.penalty / problem.n_scores
            squares = sample.operator.squared_pull(weights[:, None])[0]
            diagonal = np.append(problem.regularizer.diagonal() + squares, weights.sum())
            scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-10 * diagonal.max()))

        def value_gradient(v: Array) -> tuple[float, Array]:
            here = self.at(v.reshape(z.shape) * scale, stage)
            return here.value, (here.gradient * scale).ravel()

        how = {"maxiter": self.most, "maxfun": 2 * self.most, "ftol": gain, "gtol": 0.0}
        v = (z / scale).ravel()
        v = minimize(value_gradient, v, jac=True, method="L-BFGS-B", options=how).x
        z = v.reshape(z.shape) * scale
        return z, self.at(z, stage)

    def settled(self, z: Array, stage: Rounded) -> Array:
        """Return where the loss itself leads, its kink rounded."""
        end, here = self.descend(z, stage, GAIN)
        loss = self.problem.loss
        if loss.cap == math.inf or here.value <= ABOVE * self.level:
            return end
        for cap in CAPS:
            z, _ = self.descend(z, rounded(loss.stretched(cap), stage.width), GAIN)
        z, there = self.descend(z, stage, GAIN)
        return z if there.value < here.value else end

    def finished(self, z: Array, multipliers: Any) -> tuple[float, float, Array, Any]:
        """Return objective, residual, point and multipliers at the end."""
        unit, loss, most = unit_of(self.problem), self.problem.loss, driver_values()
        narrower = [rounded(loss, width * unit) for width in NARROWER]
        wide, stage = (rounded(loss, width * unit) for width in WIDTHS)
        if multipliers is None:
            z, here = self.descend(self.settled(z, wide), stage, GAIN)
        else:
            here = self.at(z, stage)
        while True:
            # 1. The finish on rows near a bend, as many as a sample has, and a look at the others.
            #    If some of these have come near, again with more rows, from the lower point.
            reaches = unit * REACHES[here.near <= most]
            few = int(np.count_nonzero(here.near <= min(sample_values(), most)))
            for reach in reaches[max(few - 1, 0) :]:
                found = self.near_finished(z, multipliers, stage, reach, here)
                before, objective, residual, changed, end, multipliers = found
                near = changed <= INNER * self.tol
                if near and (residual <= self.tol or len(narrower) < len(NARROWER)):
                    return objective, max(residual, changed), end, multipliers
                if near:
                    # 2. A finish that has not converged may from a narrower kink, once.
                    z = end if objective < before else z
                    break
                z, multipliers = (end, multipliers) if objective < before else (z, None)
            # 3. Where that are too many, a narrower kink; at last none is gathered.
            if not narrower:
                found = self.near_finished(z, None, stage, -math.inf, here)
                _, objective, residual, _, end, multipliers = found
                return objective, residual, end, multipliers
            stage, multipliers = narrower.pop(0), None
            z, here = self.descend(z, stage, 0.0)

    def near_finished(
        self, z: Array, multipliers: Any, stage: Rounded, reach: float, here: SmoothSums
    ) -> tuple[float, float, float, float, Array, Multipliers]:
        """Return where the finish on rows near a bend leads, and what that did to the others.

        The objective before and after, the residual, by which share of all multipliers those of
        the others have changed, the point and the multipliers.
        """
        problem, residual, end = self.problem, here.residual, z
        parts = problem.ask(ask.near_of, z, stage, reach)
        X, labels, penalty, rows, rest = zip(*parts, strict=True)
        near, y = np.concatenate(rows), np.concatenate(labels)
        psi = np.zeros((len(near), *z.shape[:-1]))
        if len(near):
            part = problem.on_rows(stacked(X), y, np.concatenate(penalty))
            part.operator.row_length = problem.operator.row_length
            known = None if multipliers is None else multipliers.at(near)
            with suppress(TooFar):
                end, psi, residual = self.end(part, Rest(*added(rest)), z, known)
        judged = problem.ask(ask.judged_of, z, stage, reach, end)
        problem.operator.count(3.0 * problem.n_scores)
        losses, changed, *far = zip(*judged, strict=True)
        columns = zip((near, psi, y), far, strict=True)
        found = Multipliers(*(np.concatenate([one, *others]) for one, others in columns))
        before, after = sum(losses) + np.array([problem.energy(at[..., :-1]) for at in (z, end)])
        share = sum(changed) / (float(np.abs(found.values).sum()) or 1.0)
        return float(before), float(after), residual, float(share), end, found

    def end(self, part: Any, rest: Rest, z: Array, known: Any) -> tuple[Array, Array, float]:
        """Return point, multipliers and residual where the finish on some rows ends."""
        how: Any = {"tol": self.tol, "most": self.options.max_iter, "record": self.record}
        if part.n_scores == 1:
            end = finish(Descent(part, rest), z, known, **how)
            return end.z, end.psi, end.residual
        how["rng"] = np.random.default_rng(0)
        several = multiclass.finish(part, (*parts_of(z), known), rest=rest, **how)
        return joint(several.W, several.b), several.pulls, several.residual
