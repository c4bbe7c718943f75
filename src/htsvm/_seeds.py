"""What `random_state` means, everywhere: None always takes the same seed."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """Return a seed; always the same one for None, so that results can be repeated."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31 - 1))


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator with that seed; generators pass through."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))


def search_generator(seed: Any) -> np.random.Generator:
    """Return a generator for a seed that no other use of the same seed shares.

    People who flip labels or draw rows with ``default_rng(0)`` must not meet the same rows here.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng([int.from_bytes(b"starts", "big"), int(seed)])
