"""What the rows of binary and multi-class problems on workers have in common."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from htsvm.distributed.blocks import Blocks


class RowsOnBlocks:
    """Rows on workers, possibly with their penalties multiplied by random numbers.

    Parameters
    ----------
    problem : BlockProblem or MulticlassBlockProblem
        The problem.
    rng : Generator
        Draws the random numbers.
    states : list, optional
        The states of a generator from which the blocks draw theirs.
    """

    def __init__(
        self, problem: Any, rng: np.random.Generator, states: list[Any] | None = None
    ) -> None:
        self.problem, self.rng, self._states = problem, rng, states
        self.blocks: Blocks = problem.blocks

    def traffic(self) -> dict[str, float]:
        """Return the passes over the network so far, and the bytes they moved."""
        return self.blocks.traffic.columns()

    def with_random_penalties(self) -> Self:
        """Multiply the penalties by the exponential random numbers that a local fit would draw."""
        return type(self)(self.problem, self.rng, self.blocks.states_of(self.rng))

    def largest_violation(self) -> float:
        """Return the largest violation of a sample that counts, at least zero."""
        return float(self.blocks.ask("largest_violation", how="max"))

    def _start_blocks(self) -> None:
        """Let all blocks start at zero, without multipliers."""
        self.blocks.tell_and_log("start_at_zero")
        if self._states is not None:
            self.blocks.tell_and_log("vary_penalties", each=self._states)
