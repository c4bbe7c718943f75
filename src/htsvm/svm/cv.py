"""HTSVC with C and the cap chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot

from htsvm._typing import Array, validated_fit
from htsvm.losses import HybridTruncated, Loss
from htsvm.solvers import Newton, Solver
from htsvm.svm.base import BaseLinearSVC
from htsvm.svm.fitted import AnyFitted
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import check_grid, solve_path
from htsvm.svm.solving import AnyProblem


class HTSVCCV(BaseLinearSVC):
    """HTSVC that chooses C, and the cap if several are given, by cross-validation.

    Every fold is fitted for the whole grid with warm starts: along C from large to small, and
    along the cap from large to small (``inf``, the convex model, first if it is given), so that
    the grid costs a few fits, not one per point. Then the best pair is fitted to all the data.

    Parameters
    ----------
    Cs : int or array-like, default=9
        The penalties to try, or how many between 1/16 and 16.
    caps : float or array-like, default=1.0
        The caps to try. With ``inf`` among them truncation is never forced on data that is better
        off without.
    cv : int, splitter or iterable, default=None
        As everywhere in scikit-learn; None is stratified 5-fold.
    scoring : str or callable, default=None
        The score to maximise; None is accuracy.
    knee, solver, tol, max_iter, fit_intercept, class_weight, multi_class, n_restarts, \
    random_state, verbose
        As for `HTSVC`; the solver and the restarts are those of the final fit.
    n_jobs : int, optional
        Threads over folds.

    Attributes
    ----------
    C_, cap_ : float
        The chosen penalty and cap. Of equal scores, the one with the larger cap, then with the
        smaller C wins: the tamer model.
    Cs_, caps_ : ndarray
        The grid, in the order of `scores_`.
    scores_ : ndarray of shape (n_folds, n_caps, n_Cs)
        The score of each point in each fold.
    coef_, intercept_, classes_, certificate_, ...
        As for `HTSVC`, from the final fit.

    See Also
    --------
    HTSVC : The model.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm import HTSVCCV
    >>> X, y = make_classification(n_samples=200, flip_y=0.2, random_state=0)
    >>> clf = HTSVCCV(Cs=3, caps=[float("inf"), 1.0]).fit(X, y)
    >>> clf.scores_.shape
    (5, 2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HTSVC._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "caps": [Interval(Real, 0.0, None, closed="right"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }
    for _name in ("C", "cap", "warm_start"):
        del _parameter_constraints[_name]
    del _name

    def __init__(
        self,
        *,
        Cs: Any = 9,
        caps: Any = 1.0,
        cv: Any = None,
        scoring: Any = None,
        knee: float = 2.0 / 3.0,
        solver: Any = "newton",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        multi_class: str = "auto",
        n_restarts: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.caps = caps
        self.cv = cv
        self.scoring = scoring
        self.knee = knee
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> HTSVCCV:
        """Choose C and cap by cross-validation, then fit all the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C per sample; they also weigh the scores.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, classes, codes, weights = self._validated(X, y, sample_weight)
        self.Cs_ = check_grid(self.Cs)
        self.caps_ = _check_caps(self.caps)
        splits = check_cv(self.cv, y, classifier=True).split(X, y)
        self.scores_ = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._score_fold)(X, y, classes, codes, weights, train, test)
                for train, test in splits
            )
        )
        self.cap_, self.C_ = self._choose()
        self._fit_checked(X, classes, codes, weights)
        return self

    def _score_fold(
        self,
        X: Any,
        y: Array,
        classes: Array,
        codes: Array,
        weights: Array | None,
        train: Array,
        test: Array,
    ) -> Array:
        """Return the scores on one fold, of shape (n_caps, n_Cs)."""
        kept = None if weights is None else weights[train]
        problems = self._problems(
            X[train], classes, codes[train], kept, C=1.0, loss=self._loss_at(1.0)
        )
        columns = [self._solve_grid(problem) for problem in problems]
        scores = np.empty((len(self.caps_), len(self.Cs_)))
        for i in range(len(self.caps_)):
            for j in range(len(self.Cs_)):
                results = [column[i][j][0] for column in columns]
                coef = np.vstack([result.coef for result in results])
                intercept = np.concatenate([np.atleast_1d(result.intercept) for result in results])
                scores[i, j] = self._score(
                    coef, intercept, classes, X[test], y[test],
                    None if weights is None else weights[test],
                )  # fmt: skip
        return scores

    def _solve_grid(self, problem: AnyProblem) -> list[list[AnyFitted]]:
        """Solve one problem for all caps, largest first, and all C."""
        solver = Newton(tol=self.tol, max_iter=self.max_iter)
        rows: list[list[AnyFitted]] = []
        for cap in self.caps_:
            stated = replace(problem, loss=self._loss_at(float(cap)))
            rows.append(solve_path(stated, self.Cs_, solver, rows[-1] if rows else None))
        return rows

    def _score(
        self,
        coef: Array,
        intercept: Array,
        classes: Array,
        X: Any,
        y: Array,
        weights: Array | None,
    ) -> float:
        if self.scoring is None:
            scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
            codes = (scores[:, 0] > 0.0) if len(classes) == 2 else scores.argmax(axis=1)
            return float(np.average(classes[codes.astype(np.intp)] == y, weights=weights))
        model = HTSVC()
        model.classes_, model.coef_, model.intercept_ = classes, coef, intercept
        model.n_features_in_ = coef.shape[1]
        scorer = check_scoring(model, scoring=self.scoring)
        options = {} if weights is None else {"sample_weight": weights}
        return float(scorer(model, X, y, **options))

    def _choose(self) -> tuple[float, float]:
        """Return the best (cap, C); of equals the larger cap, then the smaller C."""
        means = self.scores_.mean(axis=0)
        best = means >= means.max() - 1e-12
        i, j = max(
            zip(*np.nonzero(best), strict=True),
            key=lambda place: (self.caps_[place[0]], -self.Cs_[place[1]]),
        )
        return float(self.caps_[i]), float(self.Cs_[j])

    def _loss_at(self, cap: float) -> HybridTruncated:
        return HybridTruncated(knee=self.knee, cap=cap)

    def _loss(self) -> Loss:
        return self._loss_at(self.cap_)

    def _penalty(self) -> float:
        return self.C_

    def _solver(self) -> Solver:
        return self._named_solver(self.solver)

    def as_htsvc(self) -> HTSVC:
        """Return an unfitted `HTSVC` with the chosen C and cap."""
        shared = HTSVC().get_params().keys() & self.get_params().keys()
        options = {name: getattr(self, name) for name in shared}
        return HTSVC(**{**options, "C": self.C_, "cap": self.cap_})


def _check_caps(caps: Any) -> Array:
    """Return the caps, largest first."""
    values = np.atleast_1d(np.asarray(caps, dtype=np.float64))
    if values.ndim != 1 or len(values) == 0 or not np.all(values > 0.0):
        raise ValueError(f"caps must be positive (inf for no truncation), got {caps!r}.")
    return np.unique(values)[::-1]
