"""The space that a kernel model is fitted in: a checked kernel matrix, or landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.cluster import kmeans_plusplus

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.linalg.kernel_functions import Kernel, kernel_function
from htsvm.linalg.kernel_operator import KernelOperator
from htsvm.linalg.kernels import COMPILED
from htsvm.linalg.landmarks import Landmarks, blocks, independent
from htsvm.linalg.spaces import distinct_rows
from htsvm.problems.binary import Problem

# The side of the tiles in which a kernel matrix is computed: one stays in the cache.
TILE = 500
# These kernels are positive whatever the data.
POSITIVE = ("rbf", "laplacian", "cosine", "linear")
SELECTIONS = ("kmeans++", "uniform")
# Of larger matrices only a part of this side is checked for negative eigenvalues.
CHECKED_SIDE = 500
# By how much, as a share of the largest entry, rounding may spoil symmetry and positivity.
ROUNDING = 1e-8
# k-means++ looks at no more rows than this, or twice the landmarks.
SEEN_BY_KMEANS = 10_000
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
    if count is None and not one_problem and COMPILED and model.fit_intercept:
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


def kernel_matrix(function: Kernel, X: Any) -> Array:
    """Return the kernel matrix of all rows; half of it is computed, in tiles, half copied."""
    m = X.shape[0]
    K = np.empty((m, m))
    tiles = [slice(low, min(low + TILE, m)) for low in range(0, m, TILE)]
    rows = [X[tile] for tile in tiles]
    for i, upper in enumerate(tiles):
        for lower, others in zip(tiles[i:], rows[i:], strict=True):
            K[upper, lower] = function(rows[i], others)
            if lower != upper:
                K[lower, upper] = K[upper, lower].T
    return K


def check_precomputed(K: Array) -> None:
    """Complain of a kernel matrix that is not square, symmetric or positive semidefinite."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "kernel='precomputed' needs a square matrix of the kernel between all training "
            f"samples, got shape {K.shape}; to fit rows of features choose another kernel."
        )
    size = float(np.abs(K).max(initial=0.0))
    for part in blocks(len(K), len(K)):
        apart = np.abs(K[part] - K[:, part].T)
        if float(apart.max(initial=0.0)) > ROUNDING * size:
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            i += part.start
            raise ValueError(
                f"kernel='precomputed' needs a symmetric matrix, but X[{i}, {j}] = {K[i, j]:.6g} "
                f"and X[{j}, {i}] = {K[j, i]:.6g}; if the difference is rounding, pass "
                "(X + X.T) / 2."
            )


def check_positive(K: Array, kernel: Any) -> None:
    """Complain of negative eigenvalues of (a part of) a kernel matrix, where they are possible.

    A callable may be anything: there the part has to be symmetric as well.
    """
    if isinstance(kernel, str) and kernel in POSITIVE:
        return
    side = min(len(K), CHECKED_SIDE)
    some = np.linspace(0, len(K) - 1, side).astype(np.intp)
    part_of_it = K[np.ix_(some, some)]
    apart = float(np.abs(part_of_it - part_of_it.T).max(initial=0.0))
    if callable(kernel) and apart > np.sqrt(ROUNDING) * float(np.abs(part_of_it).max()):
        raise ValueError(
            f"kernel={kernel!r} is not symmetric: k(a, b) and k(b, a) of two training samples "
            f"differ by {apart:.3g}. Return the inner products of the rows of the first argument "
            "with those of the second."
        )
    values = linalg.eigvalsh(part_of_it, check_finite=False)
    if values[0] < -np.sqrt(ROUNDING) * max(float(values[-1]), 0.0) or values[-1] < 0.0:
        part = "" if side == len(K) else f" of {side} of its rows and columns"
        raise ValueError(
            f"kernel={kernel!r} is not positive semidefinite: its matrix{part} has the eigenvalue "
            f"{values[0]:.3g}, where the largest is {values[-1]:.3g}. Choose other parameters or "
            "another kernel; of a precomputed one, clip the negative eigenvalues."
        )


def choose_landmarks(
    X: Any, weights: Array | None, count: int, selection: str, rng: np.random.Generator
) -> Array:
    """Return the rows of X that become landmarks, all of them different.

    The choice depends neither on the order of the rows nor on how often one is repeated. k-means++
    prefers rows far from those already chosen; it looks at a sample of the rows.
    """
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0.0)
    rows = rows[distinct_rows(X[rows])[0]]
    if count >= len(rows):
        return rows
    if selection == "uniform":
        return rng.choice(rows, count, replace=False)
    if len(rows) > SEEN_BY_KMEANS:
        rows = rng.choice(rows, min(max(SEEN_BY_KMEANS, 2 * count), len(rows)), replace=False)
    seed = int(rng.integers(2**31))
    _, chosen = kmeans_plusplus(X[rows], count, random_state=seed, n_local_trials=1)
    kept: Array = rows[np.unique(chosen)]
    return kept
