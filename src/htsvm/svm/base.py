"""What linear classifiers have in common: everything but the loss and the solver."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from htsvm._typing import Array, validated_fit
from htsvm.distributed import is_dask
from htsvm.exceptions import IgnoredClassWarning
from htsvm.losses import Loss
from htsvm.optimality import SampleStatus
from htsvm.problems.build import (
    binary_problems,
    check_no_none,
    check_weights,
    encode_labels,
    plain,
    weigh_classes,
)
from htsvm.problems.multiclass import MulticlassProblem
from htsvm.solvers import ADMM, Newton, Problem, Solver, SolverResult
from htsvm.solvers.restarts import CONSTANT
from htsvm.svm._decisions import LinearDecisions
from htsvm.svm._multiclass import (
    AnyFitted,
    AnyProblem,
    is_multiclass,
    multiclass_problem,
    multiclass_start,
    solve_any,
)


class BaseLinearSVC(LinearDecisions, BaseEstimator):  # type: ignore[misc]
    """A linear classifier fitted as one problem, or one per class against the rest.

    Subclasses add the loss: `_loss`, and its parameters to ``__init__``; and the solver: `_solver`.
    Those with a parameter `multi_class` can fit more than two classes as one problem.
    """

    # A bounded loss finds it cheap to give up a small class, so each class is by default fitted
    # against a rest of the same weight. Convex losses do without.
    _balanced_rest: ClassVar[bool] = True
    # The parameter that says from where on samples are ignored, if there is one.
    _cap_name: ClassVar[str | None] = "cap"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"auto", "joint", "crammer_singer", "ovr"})],
        "warm_start": ["boolean"],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss that the parameters describe."""

    def _penalty(self) -> float:
        """Return the C of the fit."""
        return float(self.C)

    @abstractmethod
    def _solver(self) -> Solver:
        """Return the solver that the parameters describe."""

    @validated_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_features)
            Training data. CSR matrices and C-ordered float32 or float64 arrays are used as they
            are, without a copy. Dask collections are fitted block by block on their workers.
        y : array-like of shape (n_samples,)
            Class labels, of any type. A Dask array or Series may go with Dask data.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C per sample. Zero takes a sample out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if is_dask(X):
            self._fitter_on_dask()(self, X, y, sample_weight)
            return self
        X, _, classes, codes, weights = self._validated(X, y, sample_weight)
        self._fit_checked(X, classes, codes, weights)
        return self

    def _fitter_on_dask(self) -> Callable[[Any, Any, Any, Any], None]:
        """Return what fits this estimator on Dask collections; most cannot be."""
        raise TypeError(
            f"{type(self).__name__} does not take Dask collections. Fit HTSVC, MultiViewHTSVC or "
            "ht_path on them, or pass X.compute() if it fits into memory."
        )

    def _validated(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Array, Array, Array, Array | None]:
        """Return X, y, the classes, their codes in y and the weights, all of them checked."""
        if is_dask(X):
            self._fitter_on_dask()
        check_no_none(y)
        X, y = self._validated_data(X, y)
        check_classification_targets(y)
        weights = check_weights(sample_weight, y)
        classes, codes = encode_labels(y)
        self._check_classes(classes, codes, weights)
        return X, y, classes, codes, weights

    def _validated_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return X and y, checked; sets what scikit-learn wants to know of the features."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
            accept_large_sparse=True,
        )  # fmt: skip
        return X, y

    def _fit_checked(self, X: Any, classes: Array, codes: Array, weights: Array | None) -> None:
        """Fit data that has been validated."""
        problems = self._problems(X, classes, codes, weights, C=self._penalty(), loss=self._loss())
        starts = self._warm_starts(classes, problems)
        solver = self._solver()
        if len(problems) == 1:
            fitted = [solve_any(problems[0], solver, start=starts[0])]
        else:
            fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(solve_any)(problem, solver, start=start)
                for problem, start in zip(problems, starts, strict=True)
            )
        self.classes_ = classes
        self._store(fitted, problems, codes)
        self._warn_unconverged(fitted)
        self._warn_ignored(fitted, codes, weights)
        self._warn_unrecognised(X, codes)

    def _problems(
        self, X: Any, classes: Array, codes: Array, weights: Array | None, *, C: float, loss: Loss
    ) -> list[AnyProblem]:
        """Return the problems of a fit: one, or one per class against the rest."""
        factors = weigh_classes(self.class_weight, classes, codes, weights)
        stated: dict[str, Any] = {
            "C": C, "loss": loss, "fit_intercept": bool(self.fit_intercept),
        }  # fmt: skip
        if is_multiclass(
            getattr(self, "multi_class", "ovr"), len(classes), getattr(self, "solver", "")
        ):
            return [multiclass_problem(X, len(classes), codes, weights, factors, **stated)]
        stated["balanced"] = self._balanced_rest
        return [*binary_problems(X, len(classes), codes, weights, factors, **stated)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------------- before the fit

    def _check_classes(self, classes: Array, codes: Array, weights: Array | None) -> None:
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        self._check_mass(classes, mass)

    def _check_mass(self, classes: Array, mass: Array) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, but y holds only "
                f"one class: {plain(classes[0])!r}."
            )
        empty = classes[mass == 0.0].tolist()
        if len(classes) - len(empty) < 2:
            raise ValueError(
                "sample_weight is zero for every sample of all but one class; the classes "
                f"without weight are {empty!r}."
            )

    def _warm_starts(self, classes: Array, problems: Sequence[AnyProblem]) -> list[Any]:
        """Return the starts of the problems: the last solution, or None for cold ones."""
        if not self._continues(classes, problems):
            return [None] * len(problems)
        m = problems[0].operator.shape[0]
        if len(problems) < len(self.coef_):
            return [multiclass_start(self, m)]
        same_size = len(self.sample_status_) == m
        starts = []
        for k, problem in enumerate(problems):
            psi = None
            if same_size and isinstance(problem, Problem):
                psi = np.zeros(m)
                psi[self.support_] = -self.dual_coef_[k] * problem.y[self.support_]
            starts.append((self.coef_[k], float(self.intercept_[k]), psi))
        return starts

    def _continues(self, classes: Array, problems: Sequence[AnyProblem]) -> bool:
        """Return whether to start from the last solution, and it is one of such problems."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "coef_")):
            return False
        self.densify()
        rows = 1 if len(classes) == 2 else len(classes)
        return (
            self.coef_.shape == (rows, problems[0].operator.shape[1])
            and np.array_equal(self.classes_, classes)
            and len(self.certificate_) == len(problems)
        )

    def _progress(self) -> _Progress | None:
        """Return what prints a line per iteration, if that was asked for."""
        return _Progress(type(self).__name__) if self.verbose else None

    def _named_solver(self, solver: Any) -> Solver:
        """Return the solver for a name, or the given solver, with this estimator's options."""
        progress = self._progress()
        if solver == "newton" or isinstance(solver, Newton):
            base = Newton() if isinstance(solver, str) else solver
            return replace(
                base,
                tol=self.tol,
                max_iter=self.max_iter,
                n_restarts=getattr(self, "n_restarts", 0),
                random_state=seed_of(self.random_state),
                callback=progress or base.callback,
            )
        if getattr(self, "n_restarts", 0):
            raise ValueError(
                f"n_restarts={self.n_restarts} needs solver='newton'; {solver!r} has no restarts."
            )
        other: ADMM = ADMM() if isinstance(solver, str) else solver
        return replace(
            other, tol=self.tol, max_iter=self.max_iter, callback=progress or other.callback
        )

    # -------------------------------------------------------------------------- after the fit

    def _store(self, fitted: list[AnyFitted], problems: list[AnyProblem], codes: Array) -> None:
        self._store_results(fitted)
        self._store_support([result for result, _ in fitted], problems, codes)
        self._store_status(codes)

    def _store_results(self, fitted: Sequence[AnyFitted]) -> None:
        results = [result for result, _ in fitted]
        self.certificate_ = [certificate for _, certificate in fitted]
        self.coef_ = np.vstack([result.coef for result in results])
        self.intercept_ = np.concatenate([np.atleast_1d(result.intercept) for result in results])
        self.objective_ = np.array([result.objective for result in results])
        self.n_iter_ = max(result.n_iter for result in results)
        self.n_passes_ = float(sum(result.passes for result in results))
        self.seconds_ = [result.seconds for result in results]
        self.history_ = _joined_history(results)

    def _store_support(
        self, results: list[SolverResult], problems: list[AnyProblem], codes: Array
    ) -> None:
        pulls = [
            result.multipliers.T
            if isinstance(problem, MulticlassProblem)
            else [-result.multipliers * problem.y]
            for result, problem in zip(results, problems, strict=True)
        ]
        table = np.vstack(pulls)
        self.support_ = np.flatnonzero(np.any(table != 0.0, axis=0))
        self.dual_coef_ = table[:, self.support_]
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))

    def _store_status(self, codes: Array) -> None:
        """Store what became of each sample; once per problem."""
        statuses = [certificate.sample_status for certificate in self.certificate_]
        self.certificate_ = [replace(c, sample_status=None) for c in self.certificate_]
        self.sample_status_: Array = np.column_stack([s for s in statuses if s is not None])
        if len(statuses) == 1:
            self.sample_status_ = own = self.sample_status_[:, 0]
        else:
            own = self.sample_status_[np.arange(len(codes)), codes]
        self.ignored_ = np.flatnonzero(own == SampleStatus.IGNORED)

    def _warn_unconverged(self, fitted: Sequence[AnyFitted]) -> None:
        failed = [
            (r, c)
            for r, c in fitted
            if not (c.certified and (r.converged or CONSTANT not in r.notes))
        ]
        if not failed:
            return
        result, certificate = max(failed, key=lambda pair: pair[1].residual)
        residual = certificate.residual if CONSTANT not in result.notes else result.residual
        returned = ""
        if CONSTANT in result.notes:
            returned = (
                "The constant classifier has a lower objective than that point: it is what was "
                "kept, and what the certificate is about. "
            )
        where = f" in {len(failed)} of {len(fitted)} binary problems" if len(fitted) > 1 else ""
        warnings.warn(
            f"{type(self).__name__} did not converge{where}: the P-stationarity residual is "
            f"{residual:.2e}, tol is {certificate.tol:.2e}, after {result.n_iter} "
            f"iterations (max_iter={self.max_iter}). {returned}Scale the features to similar "
            "ranges (for example with StandardScaler or MaxAbsScaler), or increase max_iter or tol."
            + "".join(f" {note}" for note in result.notes if note.startswith("Try")),
            ConvergenceWarning,
            stacklevel=5,
        )

    def _warn_ignored(
        self, fitted: Sequence[AnyFitted], codes: Array, weights: Array | None
    ) -> None:
        counted = codes if weights is None else codes[weights > 0.0]
        ignored = self.ignored_ if weights is None else self.ignored_[weights[self.ignored_] > 0.0]
        size = np.bincount(counted, minlength=len(self.classes_))
        lost = np.bincount(codes[ignored], minlength=len(self.classes_))
        self._warn_shares(fitted, lost / np.maximum(size, 1))

    def _warn_unrecognised(self, X: Any, codes: Array) -> None:
        """Warn where one problem per class leaves a class to the others, though each is solved."""
        if getattr(self, "multi_class", None) != "ovr" or len(self.classes_) < 3:
            return
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        right = scores.argmax(axis=1) == codes
        size = np.bincount(codes, minlength=len(self.classes_))
        share = np.bincount(codes[right], minlength=len(self.classes_)) / size
        k = int(share.argmin())
        if share[k] < 0.5:
            warnings.warn(
                f"{type(self).__name__} with multi_class='ovr' recognises only {share[k]:.0%} of "
                f"the training samples of class {plain(self.classes_[k])!r}: scores of separate "
                "problems need not compare. multi_class='auto' fits all classes as one problem.",
                IgnoredClassWarning,
                stacklevel=5,
            )

    def _warn_shares(self, fitted: Sequence[AnyFitted], share: Array, stacklevel: int = 6) -> None:
        """Warn if more than half of a class is ignored."""
        if not np.any(share > 0.5):
            return
        k = int(share.argmax())
        label = plain(self.classes_[k])
        constant = not np.any(self.coef_[k if len(fitted) > 1 else 0])
        text = (
            f"{type(self).__name__} ignores {share[k]:.0%} of the samples of class {label!r} as "
            "outliers"
        )
        if constant:
            text += ": the lowest objective found is that of a constant classifier (coef_ = 0)"
        advice = [] if self.class_weight == "balanced" else ["class_weight='balanced'"]
        advice += ["a larger C"] + ([f"a larger {self._cap_name}"] if self._cap_name else [])
        warnings.warn(
            f"{text}. Try {', '.join(advice)}.", IgnoredClassWarning, stacklevel=stacklevel
        )


class _Progress:
    """Prints a line per iteration."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, row: dict[str, Any]) -> None:
        print(
            f"[{self.name}] iteration {row['iteration']:4d}  objective {row['objective']:.6g}  "
            f"residual {row['residual']:.1e}  {row['seconds']:.2f} s",
            flush=True,
        )


def seed_of(random_state: Any) -> int:
    """Return a seed; always the same one for None, so that fits can be repeated."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _joined_history(results: list[SolverResult]) -> dict[str, Array]:
    """Return one table for all binary problems, with a column that tells them apart."""
    if len(results) == 1:
        return {name: np.array(column) for name, column in results[0].history.items()}
    table = {
        name: np.concatenate([np.array(result.history[name]) for result in results])
        for name in results[0].history
    }
    lengths = [len(result.history["iteration"]) for result in results]
    return {"problem": np.repeat(np.arange(len(results)), lengths), **table}
