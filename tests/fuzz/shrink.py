"""From a failing case to the smallest one that fails alike, printed as a test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from tests.fuzz.cases import Case

Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails, seconds: float = 30.0) -> Case:
    """Return the smallest case that still fails, as far as the time allows."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _smaller(case):
            if time.monotonic() > end:
                break
            if _is_sound(candidate) and fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _is_sound(case: Case) -> bool:
    return min(case.X.shape) > 0 and len(np.unique(case.y)) >= 2


def _smaller(case: Case) -> Iterator[Case]:
    """Yield simpler cases, the greatest steps first."""
    m, n = case.X.shape
    for size in _halves(m):
        for first in range(0, m, size):
            yield _without_rows(case, np.arange(first, min(first + size, m)))
    if "views" not in case.params:
        for size in _halves(n):
            for first in range(0, n, size):
                gone = np.arange(first, min(first + size, n))
                yield case.changed(X=np.delete(case.X, gone, axis=1))
    if case.weights is not None:
        yield case.changed(weights=None)
        plain = np.where(case.weights > 0.0, 10.0 ** np.round(np.log10(case.weights + 1e-300)), 0.0)
        if not np.array_equal(plain, case.weights):
            yield case.changed(weights=plain)
    if case.form != "dense":
        yield case.changed(form="dense")
    for name in case.params:
        if name not in ("C", "views"):
            params = {key: value for key, value in case.params.items() if key != name}
            yield Case(case.X, case.y, case.weights, case.estimator, params, case.form, case.traits)
    for digits in (1, 2, 3):
        for changed in (_rounded(case, digits), _rounded_penalty(case, digits)):
            if changed is not None:
                yield changed


def _halves(size: int) -> list[int]:
    steps, part = [], size // 2
    while part >= 1:
        steps.append(part)
        part //= 2
    return steps


def _without_rows(case: Case, gone: np.ndarray) -> Case:
    y = np.delete(case.y, gone)
    # Class codes stay 0, 1, ... without holes.
    codes = np.unique(y, return_inverse=True)[1] if len(y) else y
    weights = None if case.weights is None else np.delete(case.weights, gone)
    return case.changed(X=np.delete(case.X, gone, axis=0), y=codes, weights=weights)


def _short(values: np.ndarray, digits: int) -> np.ndarray:
    return np.array([float(f"{v:.{digits}g}") for v in values.ravel()]).reshape(values.shape)


def _rounded(case: Case, digits: int) -> Case | None:
    X = _short(case.X, digits)
    return None if np.array_equal(X, case.X) else case.changed(X=X)


def _rounded_penalty(case: Case, digits: int) -> Case | None:
    C = case.params.get("C")
    short = None if C is None else float(f"{C:.{digits}g}")
    return None if short == C else case.changed(params={"C": short})


def as_test(case: Case, oracle: str, relations: tuple[str, ...], text: str) -> str:
    """Return the source of a test of a case."""
    weights = "None" if case.weights is None else f"np.array({case.weights.tolist()!r})"
    name = "".join(c if c.isalnum() else "_" for c in f"{case.estimator}_{oracle}".lower())
    params = repr(case.params).replace("inf", "np.inf")
    return f'''
def test_{name}():
    """{oracle}: {text}"""
    case = Case(
        np.array({case.X.tolist()!r}),
        np.array({case.y.tolist()!r}),
        {weights},
        {case.estimator!r},
        {params},
        {case.form!r},
    )
    assert not judge(case, {relations!r}).complaints
'''
