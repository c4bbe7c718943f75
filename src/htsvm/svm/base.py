"""What linear classifiers have in common: everything but the loss and the solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import validated_fit
from htsvm._typing import Array
from htsvm.losses import Loss
from htsvm.problems import AnyProblem
from htsvm.problems.build import stated_problems
from htsvm.solvers import Solver, solve_certified
from htsvm.solvers.api import configured
from htsvm.solvers.search import checked_names
from htsvm.svm._decisions import LinearDecisions
from htsvm.svm.backend import backend_of
from htsvm.svm.fitted import store_results, store_status, store_support, warm_starts
from htsvm.svm.validation import (
    CONSTRAINTS,
    as_number,
    check_no_none,
    checked_labels,
    is_huge,
    is_multiclass,
)
from htsvm.svm.warn import warn_ignored, warn_unconverged, warn_unrecognised


class BaseSVC(LinearDecisions, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that is fitted by one problem, or by one per class against the rest.

    Subclasses say what a fit does with data that has been checked: `_fit_checked`. Those with a
    parameter `multi_class` can fit more than two classes as one problem.
    """

    # A bounded loss finds it cheap to give up a small class, so each class is by default fitted
    # against a rest of the same weight. Convex losses do without.
    _balanced_rest: ClassVar[bool] = True
    # The parameter that says from where on samples are ignored, if there is one.
    _cap_name: ClassVar[str | None] = "cap"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    @validated_fit
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_features)
            Training data. CSR matrices and C-ordered float32 or float64 arrays are used as they
            are, without a copy. Dask collections are fitted block by block on their workers.
        y : array-like of shape (n_samples,)
            Class labels, of any type. A Dask array or Series may go with Dask data.
        {sample_weight}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        backend = backend_of(X)
        if backend is not None:
            self._fitter_on(backend)(self, X, y, sample_weight)
            return self
        X, _, classes, codes, weights = self._validated(X, y, sample_weight)
        with self._overflow_told():
            self._fit_checked(X, classes, codes, weights)
        return self

    def _overflow_told(self) -> AbstractContextManager[Any]:
        """Keep NumPy quiet on what overflows: the certificate of the fit says so, and a warning."""
        quiet = np.errstate(over="ignore", invalid="ignore")
        return quiet if is_huge(getattr(self, "C", 1.0)) else nullcontext()

    def _fitter_on(self, backend: Any) -> Callable[[Any, Any, Any, Any], None]:
        """Return what fits this estimator on data elsewhere; most cannot be."""
        raise TypeError(
            f"{type(self).__name__} does not take {backend.NAME}. Fit HTSVC, MultiViewHTSVC or "
            "ht_path on them, or pass X.compute() if it fits into memory."
        )

    def _validated(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Array, Array, Array, Array | None]:
        """Return X, y, the classes, their codes in y and the weights, all of them checked."""
        backend = backend_of(X)
        if backend is not None:
            self._fitter_on(backend)
        check_no_none(y)
        X, y = self._validated_data(X, y)
        return X, y, *checked_labels(type(self).__name__, y, sample_weight)

    def _validated_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return X and y, checked; set `n_features_in_` and `feature_names_in_`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
            accept_large_sparse=True,
        )  # fmt: skip
        return X, y

    @abstractmethod
    def _fit_checked(self, X: Any, classes: Array, codes: Array, weights: Array | None) -> None:
        """Fit data that has been validated."""

    def _problems(
        self, X: Any, classes: Array, codes: Array, weights: Array | None, *, C: float, loss: Loss
    ) -> list[AnyProblem]:
        """Return the problems of a fit: one, or one per class against the rest."""
        multiclass = is_multiclass(
            getattr(self, "multi_class", "ovr"), len(classes), getattr(self, "solver", "")
        )
        return stated_problems(
            X, codes, weights, self.class_weight, classes, C=C, loss=loss,
            fit_intercept=bool(self.fit_intercept), multiclass=multiclass,
            balanced=self._balanced_rest,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _progress(self) -> _Progress | None:
        """Return what prints a line per iteration, if that was asked for."""
        return _Progress(type(self).__name__) if self.verbose else None

    def _named_solver(self, solver: Any) -> Solver:
        """Return the solver for a name, or the given solver, with this estimator's options."""
        starts, restarts = getattr(self, "starts", "auto"), getattr(self, "n_restarts", 0)
        asked: dict[str, Any] = {} if starts == "auto" else {"starts": checked_names(starts)}
        if restarts:
            asked["n_restarts"] = restarts
        return configured(
            solver, asked, self._progress(),
            tol=self.tol, max_iter=self.max_iter, random_state=seed_of(self.random_state),
            compare_warm=getattr(self, "warm_start", False),
        )  # fmt: skip


class BaseLinearSVC(BaseSVC):
    """A linear classifier of one view.

    Subclasses add the loss: `_loss`, and its parameters to ``__init__``; and the solver: `_solver`.
    """

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss that the parameters describe."""

    def _penalty(self) -> float:
        """Return the C of the fit."""
        return as_number("C", self.C)

    @abstractmethod
    def _solver(self) -> Solver:
        """Return the solver that the parameters describe."""

    def _fit_checked(self, X: Any, classes: Array, codes: Array, weights: Array | None) -> None:
        """Fit data that has been validated."""
        problems = self._problems(X, classes, codes, weights, C=self._penalty(), loss=self._loss())
        starts = self._warm_starts(classes, problems)
        self._fit_problems(problems, starts, self._solver(), classes, codes, weights)

    def _fit_problems(
        self,
        problems: list[AnyProblem],
        starts: list[Any],
        solver: Solver,
        classes: Array,
        codes: Array,
        weights: Array | None,
    ) -> None:
        """Solve the problems of a fit, store all that is found, and warn of what is not well."""
        if len(problems) == 1:
            fitted = [solve_certified(problems[0], solver, start=starts[0])]
        else:
            fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(solve_certified)(problem, solver, start=start)
                for problem, start in zip(problems, starts, strict=True)
            )
        self.classes_ = classes
        store_results(self, fitted)
        store_support(self, fitted, problems, codes)
        store_status(self, codes)
        warn_unconverged(type(self).__name__, fitted, self.max_iter)
        warn_ignored(self, codes, weights)
        warn_unrecognised(self, problems[0].operator, codes)

    def _warm_starts(self, classes: Array, problems: Sequence[AnyProblem]) -> list[Any]:
        """Return the starts of the problems: the last solution, or None for cold ones."""
        return warm_starts(self, classes, problems)


class _Progress:
    """Prints a line per iteration."""

    def __init__(self, name: str) -> None:
        self.name = name

    def say(self, text: str) -> None:
        """Print a line of another kind."""
        print(f"[{self.name}] {text}", flush=True)

    def __call__(self, row: dict[str, Any]) -> None:
        print(
            f"[{self.name}] iteration {row['iteration']:4d}  objective {row['objective']:.6g}  "
            f"residual {row['residual']:.1e}  {row['seconds']:.2f} s",
            flush=True,
        )
