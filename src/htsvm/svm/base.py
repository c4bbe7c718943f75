"""What linear classifiers have in common: everything but the loss and the solver."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from htsvm._typing import Array
from htsvm.exceptions import IgnoredClassWarning
from htsvm.losses import Loss
from htsvm.optimality import Certificate, SampleStatus
from htsvm.solvers import ADMM, Newton, Problem, Solver, SolverResult, solve_certified
from htsvm.solvers.newton import CONSTANT
from htsvm.svm._problems import binary_problems, check_weights, encode_labels, weigh_classes

Fitted = tuple[SolverResult, Certificate]


class BaseLinearSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier fitted as one binary problem, or one per class against the rest.

    Subclasses add the loss: `_loss`, and its parameters to ``__init__``; and the solver: `_solver`.
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
        "warm_start": ["boolean"],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. CSR matrices and C-ordered float32 or float64 arrays are used as they
            are, without a copy.
        y : array-like of shape (n_samples,)
            Class labels, of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C per sample. Zero takes a sample out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, _, classes, codes, weights = self._validated(X, y, sample_weight)
        self._fit_checked(X, classes, codes, weights)
        return self

    def _validated(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, Array, Array, Array, Array | None]:
        """Return X, y, the classes, their codes in y and the weights, all of them checked."""
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
        factors = weigh_classes(self.class_weight, classes, codes, weights)
        problems = binary_problems(
            X, len(classes), codes, weights, factors,
            C=self._penalty(), loss=self._loss(), fit_intercept=bool(self.fit_intercept),
            balanced=self._balanced_rest,
        )  # fmt: skip
        starts = self._warm_starts(classes, problems)
        solver = self._solver()
        fitted: list[Fitted] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(solve_certified)(problem, solver, start=start)
            for problem, start in zip(problems, starts, strict=True)
        )
        self.classes_ = classes
        self._store(fitted, problems, codes)
        self._warn_unconverged(fitted)
        self._warn_ignored(fitted, codes, weights)

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores ``X @ coef_.T + intercept_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive scores mean ``classes_[1]``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores: Array = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Return the predicted class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self.decision_function(X)
        codes = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------------- before the fit

    def _check_classes(self, classes: Array, codes: Array, weights: Array | None) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, but y holds only "
                f"one class: {classes[0]!r}."
            )
        if weights is not None:
            mass = np.bincount(codes, weights=weights, minlength=len(classes))
            empty = classes[mass == 0.0].tolist()
            if len(classes) - len(empty) < 2:
                raise ValueError(
                    "sample_weight is zero for every sample of all but one class; the classes "
                    f"without weight are {empty!r}."
                )

    def _warm_starts(self, classes: Array, problems: list[Problem]) -> list[Any]:
        """Return the starts of the binary problems: the last solution, or None for cold ones."""
        count, (m, n) = len(problems), problems[0].operator.shape
        if not (getattr(self, "warm_start", False) and hasattr(self, "coef_")):
            return [None] * count
        if self.coef_.shape != (count, n) or not np.array_equal(self.classes_, classes):
            return [None] * count
        same_size = len(self.sample_status_) == m
        starts = []
        for k, problem in enumerate(problems):
            psi = None
            if same_size:
                psi = np.zeros(m)
                psi[self.support_] = -self.dual_coef_[k] * problem.y[self.support_]
            starts.append((self.coef_[k], float(self.intercept_[k]), psi))
        return starts

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

    def _store(self, fitted: list[Fitted], problems: list[Problem], codes: Array) -> None:
        results = [result for result, _ in fitted]
        self.certificate_ = [certificate for _, certificate in fitted]
        self.coef_ = np.vstack([result.coef for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.objective_ = np.array([result.objective for result in results])
        self.n_iter_ = max(result.n_iter for result in results)
        self.n_passes_ = float(sum(result.passes for result in results))
        self.seconds_ = [result.seconds for result in results]
        self.history_ = _joined_history(results)
        self._store_support(results, problems, codes)
        self._store_status(codes)

    def _store_support(
        self, results: list[SolverResult], problems: list[Problem], codes: Array
    ) -> None:
        used = results[0].multipliers != 0.0
        for result in results[1:]:
            used |= result.multipliers != 0.0
        self.support_ = np.flatnonzero(used)
        self.dual_coef_ = np.vstack(
            [
                -result.multipliers[self.support_] * problem.y[self.support_]
                for result, problem in zip(results, problems, strict=True)
            ]
        )
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))

    def _store_status(self, codes: Array) -> None:
        """Store what became of each sample; in a multi-class fit, per binary problem."""
        statuses = [certificate.sample_status for certificate in self.certificate_]
        self.certificate_ = [replace(c, sample_status=None) for c in self.certificate_]
        self.sample_status_: Array = np.column_stack([s for s in statuses if s is not None])
        if len(statuses) == 1:
            self.sample_status_ = own = self.sample_status_[:, 0]
        else:
            own = self.sample_status_[np.arange(len(codes)), codes]
        self.ignored_ = np.flatnonzero(own == SampleStatus.IGNORED)

    def _warn_unconverged(self, fitted: list[Fitted]) -> None:
        failed = [
            (r, c)
            for r, c in fitted
            if not (c.certified and (r.converged or CONSTANT not in r.notes))
        ]
        if not failed:
            return
        result, certificate = max(failed, key=lambda pair: pair[1].residual)
        residual = certificate.residual if CONSTANT not in result.notes else result.residual
        where = f" in {len(failed)} of {len(fitted)} binary problems" if len(fitted) > 1 else ""
        warnings.warn(
            f"{type(self).__name__} did not converge{where}: the P-stationarity residual is "
            f"{residual:.2e}, tol is {certificate.tol:.2e}, after {result.n_iter} "
            f"iterations (max_iter={self.max_iter}). Scale the features to similar ranges (for "
            "example with StandardScaler or MaxAbsScaler), or increase max_iter or tol."
            + "".join(f" {note}" for note in result.notes if note.startswith("Try")),
            ConvergenceWarning,
            stacklevel=5,
        )

    def _warn_ignored(self, fitted: list[Fitted], codes: Array, weights: Array | None) -> None:
        counted = codes if weights is None else codes[weights > 0.0]
        ignored = self.ignored_ if weights is None else self.ignored_[weights[self.ignored_] > 0.0]
        size = np.bincount(counted, minlength=len(self.classes_))
        lost = np.bincount(codes[ignored], minlength=len(self.classes_))
        share = lost / np.maximum(size, 1)
        if not np.any(share > 0.5):
            return
        k = int(share.argmax())
        label = self.classes_[k].item() if hasattr(self.classes_[k], "item") else self.classes_[k]
        constant = not np.any(self.coef_[k if len(fitted) > 1 else 0])
        text = (
            f"{type(self).__name__} ignores {share[k]:.0%} of the samples of class {label!r} as "
            "outliers"
        )
        if constant:
            text += ": the lowest objective found is that of a constant classifier (coef_ = 0)"
        advice = [] if self.class_weight == "balanced" else ["class_weight='balanced'"]
        advice += ["a larger C"] + ([f"a larger {self._cap_name}"] if self._cap_name else [])
        warnings.warn(f"{text}. Try {', '.join(advice)}.", IgnoredClassWarning, stacklevel=5)


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
