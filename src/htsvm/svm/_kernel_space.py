"""The space that a kernel model is fitted in: the kernel matrix itself, or coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.kernel_functions import kernel_function
from htsvm.linalg.kernel_operator import KernelOperator
from htsvm.linalg.landmarks import Landmarks, blocks, independent
from htsvm.problems.binary import Problem, Start
from htsvm.solvers.starts import BinaryTerrain, search
from htsvm.solvers.starts.portfolio import GOOD_FIT, QUICK
from htsvm.svm._kernels import (
    check_positive,
    choose_landmarks,
    kernel_matrix,
)

# Up to this many samples a kernel matrix is used without being asked for: of two classes, where the
# undecided samples alone make the work, and of several, where all of them do.
EXACT_ROWS, EXACT_ROWS_MULTICLASS = 10_000, 1_500
# Landmarks by default: this many times the root of the number of samples, between these limits.
ROOT_FACTOR, FEWEST_LANDMARKS, MOST_LANDMARKS = 4.0, 250, 1000
# An exact fit of two classes begins with a fit on this many landmarks, with these starts. With 100
# or 150 some fits end at a constant decision, with 200 they end 4 % higher in the mean (72 fits to
# two sets), and with "annealed" as well 1 % higher than without. The search is rough (`QUICK`).
FIRST_LANDMARKS, FIRST_STARTS = 300, ("convex",)
# Where landmarks do not span the space the solver's own way is the one that is gone: on 20,000 rows
# of ijcnn1 with 20 % of wrong labels what searches find with up to 512 landmarks is 2 % higher, and
# with more of them never lower.
FEW_STARTS = ("convex",)
# Bytes of a value, and of a megabyte.
VALUE, MEGABYTE = 8, 2**20


@dataclass(frozen=True, eq=False)
class FittedSpace:
    """The samples of a fit, as the solvers want them.

    Attributes
    ----------
    method : {"exact", "landmarks"}
        Whether w may be any combination of the samples.
    gamma : float
        The coefficient of the kernel.
    samples : KernelOperator or ndarray
        The kernel matrix, or coordinates of the samples.
    landmarks : Landmarks or None
        The way from coefficients of coordinates to coefficients of samples; None for a matrix.
    rows : ndarray of intp
        The samples that are landmarks; for a kernel matrix, those that may be.
    all_starts : bool
        Whether all starts are worth comparing: not for two classes on landmarks that only come
        near the space.
    """

    method: str
    gamma: float
    samples: Any
    rows: Array
    landmarks: Landmarks | None = None
    all_starts: bool = True

    def lift(self, coef: Array) -> tuple[Array, Array]:
        """Return the samples that hold the classifiers `coef`, and their coefficients."""
        if self.landmarks is None:
            used = np.flatnonzero(np.any(coef != 0.0, axis=0))
            return used, coef[:, used]
        return self.rows, self.landmarks.lift(coef)

    def start(self, problem: Problem, solve: Callable[[Problem, Any], Any]) -> Any:
        """Return where an exact fit may begin: what `solve` finds on a few landmarks.

        `solve` takes a problem and the names of starts. Where the landmarks span the space the
        problem is the same, and all starts are compared.
        """
        operator: KernelOperator = self.samples
        some = self.rows
        starts: Any = "auto"
        if len(some) > FIRST_LANDMARKS:
            some = np.random.default_rng(0).choice(some, FIRST_LANDMARKS, replace=False)
            starts = FIRST_STARTS
        found = independent(operator.K[np.ix_(some, some)])
        if len(found.rows) < len(some):
            starts = "auto"
        some = some[found.rows]
        # A rough start needs no more digits.
        kind = np.float64 if starts == "auto" else np.float32
        coordinates = found.coordinates(np.take(operator.K, some, axis=1))
        coordinates = np.ascontiguousarray(coordinates, dtype=kind)
        rough = Problem(
            as_operator(coordinates),
            problem.y, problem.penalty, problem.loss,
            Quadratic(None, len(some)), problem.C, problem.fit_intercept,
        )  # fmt: skip
        coef, intercept, multipliers = solve(rough, starts)
        w = np.zeros(problem.n_samples)
        w[some] = found.lift(coef[None])[0]
        return w, intercept, multipliers


def quick_start(problem: Problem) -> Start | None:
    """Return where a search with smooth losses ends, or None where that is not near enough.

    Narrow valleys are found by Newton's method alone: those of good fits, and of a convex loss.
    """
    if math.isinf(problem.loss.cap):
        return None
    terrain = BinaryTerrain(problem)
    found = search(terrain, (QUICK,), np.random.default_rng(0))
    if found.point is None or not found.truncated:
        return None
    if found.lowest <= GOOD_FIT * problem.trivial_objective:
        return None
    return (*terrain.parts(found.point), terrain.multipliers(found.point))


def is_one_problem(multi_class: str, classes: Array) -> bool:
    """Return whether more than two classes are fitted at once."""
    return len(classes) > 2 and multi_class != "ovr"


def kernel_space(
    model: Any,
    X: Any,
    weights: Array | None,
    gamma: float,
    one_problem: bool,
    rng: np.random.Generator,
    in_coordinates: bool = False,
) -> FittedSpace:
    """Return the space in which a `KernelHTSVC` is fitted to X.

    Parameters
    ----------
    model : KernelHTSVC
        Kernel, landmarks, limit of memory.
    X : {ndarray, CSR matrix}
        The samples; of a precomputed kernel its matrix.
    weights : ndarray or None
        Sample weights.
    gamma : float
        The coefficient of the kernel.
    one_problem : bool
        Whether more than two classes are fitted at once, for which coordinates are needed.
    rng : Generator
        Chooses landmarks.
    in_coordinates : bool, default=False
        Whether coordinates are wanted where the kernel matrix would do, for a quick search.
    """
    precomputed = model.kernel == "precomputed"
    m = X.shape[0]
    count = _landmark_count(model, m, one_problem)
    if count is None and in_coordinates and not one_problem:
        count = _default_count(model, m)
    _check_memory(model, m, m if count is None else count)
    function = (
        None if precomputed else kernel_function(model.kernel, gamma, model.degree, model.coef0)
    )
    if count is None and not one_problem:
        K = X if function is None else kernel_matrix(function, X)
        check_positive(K, model.kernel)
        candidates = choose_landmarks(X, weights, m, "uniform", rng)
        return FittedSpace("exact", gamma, KernelOperator(K), rows=candidates)
    selection = "uniform" if precomputed else model.landmark_selection
    rows = choose_landmarks(X, weights, m if count is None else count, selection, rng)
    K = X[np.ix_(rows, rows)] if function is None else kernel_matrix(function, X[rows])
    check_positive(K, model.kernel)
    found = independent(K)
    near = not one_problem and count is not None and len(found.rows) == len(rows) == count
    rows = rows[found.rows]
    coordinates = np.empty((m, len(rows)))
    # Landmarks that the kernel maps to zero leave nothing to look at.
    for part in blocks(m, len(rows)) if len(rows) else ():
        values = X[part][:, rows] if function is None else function(X[part], X[rows])
        coordinates[part] = found.coordinates(values)
    method = "exact" if count is None else "landmarks"
    return FittedSpace(method, gamma, coordinates, rows, found, not near)


def _landmark_count(model: Any, m: int, one_problem: bool) -> int | None:
    """Return the number of landmarks; None for an exact fit."""
    if model.n_landmarks is None:
        return None
    if model.n_landmarks != "auto":
        if model.n_landmarks > m:
            raise ValueError(
                f"n_landmarks={model.n_landmarks} is more than the {m} samples; pass at most {m}, "
                "or None for an exact fit."
            )
        return int(model.n_landmarks)
    if (
        m <= (EXACT_ROWS_MULTICLASS if one_problem else EXACT_ROWS)
        and _megabytes(m, m) <= model.memory_limit
    ):
        return None
    return _default_count(model, m)


def _default_count(model: Any, m: int) -> int:
    most = min(MOST_LANDMARKS, m, int(model.memory_limit * MEGABYTE / VALUE / m))
    return int(max(min(max(round(ROOT_FACTOR * m**0.5), FEWEST_LANDMARKS), most), 1))


def _megabytes(m: int, n: int) -> float:
    return m * n * VALUE / MEGABYTE


def _check_memory(model: Any, m: int, width: int) -> None:
    """Complain, before anything is allocated, of matrices larger than the limit."""
    needed = _megabytes(m, width)
    if needed <= model.memory_limit:
        return
    if model.n_landmarks is None:
        what, remedy = f"the kernel matrix of {m} samples", "n_landmarks='auto' or a number"
    else:
        most = max(int(model.memory_limit * MEGABYTE / VALUE / m), 1)
        what, remedy = f"{width} landmarks for {m} samples", f"n_landmarks={most}"
    raise MemoryError(
        f"{what} would take {needed:,.0f} MB, more than memory_limit={model.memory_limit:g}; "
        f"choose {remedy}, or raise memory_limit."
    )
