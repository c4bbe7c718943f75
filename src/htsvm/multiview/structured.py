"""Classifiers of several views with structure and learned weights, whatever the loss."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_memory

from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm.linalg.spaces import Space
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import Loss
from htsvm.multiview.alternation import Alternation, Outcome
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.parameters import per_view
from htsvm.multiview.preparation import Prepared, prepare_views
from htsvm.multiview.view_classifiers import ViewClassifiers, ViewPoints
from htsvm.multiview.warn import warn_views
from htsvm.optimality import SampleStatus
from htsvm.problems import AnyProblem
from htsvm.solvers import Solver
from htsvm.svm.fitted import joined_history
from htsvm.svm.warn import warn_ignored

Outcomes = list[Outcome[ViewPoints]]


class StructuredMultiViewSVC(BaseMultiViewSVC):
    """One classifier per view, whose regularisers are coupled by the weights of the views.

    Subclasses give the losses, `_losses`, and the solver of a view's problem, `_solver`.
    """

    @abstractmethod
    def _losses(self) -> list[Loss]:
        """Return the loss of each view."""

    @abstractmethod
    def _solver(self) -> Solver:
        """Return the solver that the parameters describe."""

    def _classifiers(
        self,
        problems: list[AnyProblem],
        strength: Array,
        covariances: list[list[Array]] | None,
        n_jobs: int | None,
    ) -> ViewClassifiers:
        """Return what finds the classifiers of the views."""
        solver = self._solver()
        # The paper's algorithm as printed starts anew in each round.
        literal = getattr(solver, "safeguards", None) == ()
        return ViewClassifiers(problems, solver, strength, covariances, literal, n_jobs)

    def _fit_checked(
        self, views: list[Any], classes: Array, codes: Array, weights: Array | None
    ) -> None:
        """Fit views that have been validated."""
        prepared = self._prepared(views, codes, weights)
        problems = self._view_problems(prepared.spaces, classes, codes, weights)
        outcomes = self._solved(problems, self._strength(), prepared.covariances)
        self.classes_ = classes
        self._store_prepared(prepared)
        self._store_fit(outcomes, prepared.spaces)
        self._store_samples(outcomes, problems, codes)
        warn_views(self, outcomes)
        warn_ignored(self, codes, weights)

    # ------------------------------------------------------------------------- before the fit

    def _penalties(self) -> Array:
        """Return the C of each view."""
        return per_view("C", self.C, self.view_names_)

    def _strength(self) -> Array:
        """Return the paper's eta of each view."""
        return per_view("structure", self.structure, self.view_names_, zero=True)

    def _prepared(
        self, views: list[Any], codes: Array, weights: Array | None, strength: Array | None = None
    ) -> Prepared:
        """Return the views in coordinates, with their structure."""
        return prepare_views(
            views, self.view_names_, codes, weights,
            strength=self._strength() if strength is None else strength,
            kernel=self.kernel, gamma=self.gamma, memory=check_memory(self.memory),
            seed=seed_of(self.random_state),
        )  # fmt: skip

    def _view_problems(
        self, spaces: list[Space], classes: Array, codes: Array, weights: Array | None
    ) -> list[list[AnyProblem]]:
        """Return, for each problem of the fit, the problems of the views."""
        per_space = [
            self._problems(space.coordinates, classes, codes, weights, C=float(C), loss=loss)
            for space, C, loss in zip(spaces, self._penalties(), self._losses(), strict=True)
        ]
        return [list(of_views) for of_views in zip(*per_space, strict=True)]

    def _solved(
        self,
        problems: list[list[AnyProblem]],
        strength: Array,
        covariances: list[list[Array]] | None,
    ) -> Outcomes:
        """Solve the problems of the fit, each of which has a problem per view."""
        several = len(problems) > 1
        runs = [
            self._alternation(
                self._classifiers(of_views, strength, covariances, None if several else self.n_jobs)
            )
            for of_views in problems
        ]
        jobs = Parallel(n_jobs=self.n_jobs if several else None, prefer="threads")
        # Between the solvers, which see to it themselves, matrices of a view are factorised.
        widest = max((one.operator for one in problems[0]), key=lambda one: int(one.shape[1]))
        with single_threaded_blas(widest):
            outcomes: Outcomes = jobs(delayed(one.run)() for one in runs)
        return outcomes

    def _alternation(
        self, classifiers: ViewClassifiers, first: Array | None = None
    ) -> Alternation[ViewPoints]:
        return self._by_turns(classifiers, begin_again=not classifiers.literal, first=first)

    # -------------------------------------------------------------------------- after the fit

    def _store_prepared(self, prepared: Prepared) -> None:
        structure = prepared.structure
        self.cluster_labels_ = None if structure is None else structure.labels
        self.n_clusters_ = None if structure is None else structure.n_clusters

    def _store_fit(self, outcomes: list[Any], spaces: list[Space]) -> None:
        results = [[view.result for view in one.point.views] for one in outcomes]
        coefs = [np.vstack([of[v].coef for of in results]) for v in range(len(spaces))]
        intercepts = np.vstack([np.column_stack([r.intercept for r in of]) for of in results])
        self._store_decision(spaces, coefs, intercepts, np.array([one.weights for one in outcomes]))
        self.weight_smoothness_ = np.array([one.smoothness for one in outcomes])
        self.weight_residual_ = np.array([one.change for one in outcomes])
        self.objective_ = np.array([one.objective for one in outcomes])
        self.start_: Any = [[result.start for result in of] for of in results]
        self.history_ = joined_history(outcomes)
        self.n_iter_ = max(len(one.history["iteration"]) for one in outcomes)

    def _store_samples(
        self, outcomes: list[Any], problems: list[list[AnyProblem]], codes: Array
    ) -> None:
        """Store certificates, support vectors and what became of each sample."""
        status = np.stack(
            [np.column_stack([c.sample_status for c in o.point.certificates]) for o in outcomes],
            axis=2,
        )
        self._store_certificates(outcomes)
        tables = [
            [
                p.coefficients(view.result.multipliers)
                for view, p in zip(one.point.views, of_views, strict=True)
            ]
            for one, of_views in zip(outcomes, problems, strict=True)
        ]
        self._store_view_support([np.vstack(tables) for tables in zip(*tables, strict=True)], codes)
        binary = len(outcomes) == 1
        self.sample_status_ = status[:, :, 0] if binary else status
        own = np.zeros(len(codes), dtype=np.intp) if binary else codes
        used = np.array([one.weights > 0.0 for one in outcomes])[own]
        ignored = status[np.arange(len(codes)), :, own] == SampleStatus.IGNORED
        self.ignored_ = np.flatnonzero(np.all(ignored | ~used, axis=1))

    def _store_certificates(self, outcomes: Outcomes) -> None:
        certificates = [
            [replace(c, sample_status=None) for c in one.point.certificates] for one in outcomes
        ]
        self.certificate_: Any = certificates[0] if len(outcomes) == 1 else certificates
