"""Points whose nature is known: the counter-examples of errata E9, for any knee and cap."""

import numpy as np

from htsvm.losses import HybridTruncated


def at_the_cap(loss, m=9, seed=0):
    """E9.1: w = 0, b = 0 on any data; needs cap = 1, so that every violation is at the cap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 3 == 0, -1, 1)
    return {"X": rng.normal(size=(m, 2)), "y": y, "coef": np.zeros(2), "intercept": 0.0,
            "multipliers": np.zeros(m), "C": 1.0, "loss": loss}  # fmt: skip


def two_samples(loss, share=0.7):
    """E9.2: two samples in the transition zone, `share` of the way through it."""
    bend, cap = loss.curved_interval
    q = bend + share * (cap - bend)
    w = 2.0 * (1.0 - q)
    C = w / (loss.weak_convexity * (cap - q))
    psi = -C * loss.weak_convexity * (cap - q)
    return {"X": np.array([[0.5], [-0.5]]), "y": np.array([1, -1]), "coef": np.array([w]),
            "intercept": 0.0, "multipliers": np.array([psi, psi]), "C": C,
            "loss": loss}  # fmt: skip


def saddle(loss, C=1.0):
    """E9.3: a strict saddle, two samples in the transition zone and one on the straight part."""
    bend, cap = loss.curved_interval
    u, v = 0.5 * (bend + cap), bend * 0.625
    d = np.sqrt((2.0 - v - u) / (C * loss.slope))
    w = d * C * loss.slope
    psi = -C * np.array([0.5, 0.5, 1.0]) * loss.slope
    return {"X": np.array([[d], [d], [0.0]]), "y": np.array([1, 1, -1]), "coef": np.array([w]),
            "intercept": v - 1.0, "multipliers": psi, "C": C, "loss": loss}  # fmt: skip


KNOWN = {
    "E9.1": at_the_cap(HybridTruncated()),
    "E9.1 knee 0.3": at_the_cap(HybridTruncated(0.3)),
    "E9.2": two_samples(HybridTruncated()),
    "E9.2 knee 0.4 cap 0.8": two_samples(HybridTruncated(0.4, 0.8)),
    "E9.3": saddle(HybridTruncated()),
    "E9.3 knee 0.5 cap 1.2": saddle(HybridTruncated(0.5, 1.2), C=0.4),
}


def objective(point, w, b, sample_weight=1.0):
    """Return the objective of `point`'s problem at (w, b), by its plain formula."""
    X, y = np.asarray(point["X"]), np.asarray(point["y"])
    q = 1.0 - y * (X @ w + b)
    return 0.5 * w @ w + point["C"] * float(np.sum(sample_weight * point["loss"].value(q)))
