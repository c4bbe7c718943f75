"""A multi-class problem whose rows are in the blocks of a Dask collection."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.distributed.blocks import Blocks, Multipliers
from htsvm.distributed.multiclass_block import MulticlassBlock
from htsvm.distributed.multiclass_rows import MulticlassBlockRows
from htsvm.distributed.problem import OnBlocks, known_of
from htsvm.linalg import as_operator
from htsvm.optimality import certify_problem
from htsvm.optimality.multiclass import MulticlassCertificate, conclude_multiclass
from htsvm.optimality.multiclass_summary import merge_multiclass
from htsvm.problems.multiclass import MulticlassProblem


@dataclass(frozen=True, eq=False)
class MulticlassBlockProblem(OnBlocks, MulticlassProblem):
    """A multi-class problem on workers; `labels` and `penalty` are empty.

    Attributes
    ----------
    blocks : Blocks
        They are there.
    """

    blocks: Any = None

    rows = MulticlassBlockRows

    @classmethod
    def of(cls, blocks: Blocks) -> MulticlassBlockProblem:
        """Return the problem of some blocks."""
        task: Any = blocks.task
        labels = np.zeros(0, dtype=np.intp)
        return cls(labels=labels, n_classes=len(task.factors), **known_of(blocks))

    def take(self, rows: Array) -> MulticlassProblem:
        """Return the problem on a copy of some rows, in this process."""
        X, labels, penalty = self.blocks.take(rows)
        known = {f.name: getattr(self, f.name) for f in fields(MulticlassProblem)}
        taken = {"operator": as_operator(X), "labels": labels, "penalty": penalty}
        return MulticlassProblem(**(known | taken))

    def multipliers_of(self, part: MulticlassProblem, values: Array) -> Multipliers:
        """Return the pulls of `part`, a copy of all rows, as this problem keeps them."""
        return Multipliers(np.arange(part.n_samples), values)

    def multipliers_from(self, rows: Array, coefficients: Array) -> Multipliers:
        """Return pulls from the coefficients of rows in the classifiers."""
        return Multipliers(rows, coefficients.T)

    @functools.cached_property
    def class_penalty(self) -> Array:
        """The sum of the penalties of each class."""
        penalty: Array = self.blocks.ask(MulticlassBlock.class_penalties)
        return penalty

    def trivial(self) -> tuple[float, Array]:
        """Return the objective and the intercepts of the best constant classifier, W = 0."""
        penalty = self.class_penalty
        known = {
            name: getattr(self, name)
            for name in ("n_classes", "loss", "regularizer", "C", "fit_intercept")
        }
        stand_in = MulticlassProblem(
            operator=as_operator(np.zeros((self.n_classes, 1))),
            labels=np.arange(self.n_classes), penalty=penalty, **known,
        )  # fmt: skip
        return stand_in.trivial()

    def certify(self, W: Array, b: Array, B: Multipliers, tol: float) -> MulticlassCertificate:
        """Certify the point (W, b, B): two passes."""
        each = B.by_block(self.blocks)
        parts = self.blocks.ask(MulticlassBlock.summary, W, b, each=each)
        summary = merge_multiclass([found for found, _ in parts])
        self.blocks.ignored = sum(ignored for _, ignored in parts)
        self.operator.count(4.0 * self.n_classes)

        def dual_sums(keep: Array) -> tuple[Array, float]:
            sums = self.blocks.ask(MulticlassBlock.dual_sums, W, b, keep, each=each)
            return sums[:-1].reshape(W.shape), float(sums[-1])

        return conclude_multiclass(
            W, summary, dual_sums, loss=self.loss, regularizer=self.regularizer,
            fit_intercept=self.fit_intercept, tol=tol, row_length=self.operator.row_length,
        )  # fmt: skip


certify_problem.register(MulticlassBlockProblem, MulticlassBlockProblem.certify)
