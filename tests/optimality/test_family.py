"""All certificates have a residual, a verdict, a text and a dictionary."""

import json
import math
import re
from dataclasses import dataclass, fields

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.extend import (
    Certificate,
    SolverResult,
    certify_result,
    register_certificate,
)
from htsvm.optimality import BinaryCertificate, MulticlassCertificate

SHARED = {"certified", "residual", "tol", "objective", "trivial_objective", "convex_objective",
          "n_support", "rounding_floor", "notes"}  # fmt: skip


def data(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=60)
    return rng.normal(size=(60, 4)) + y[:, None], y


@pytest.mark.parametrize(
    ("model", "classes", "kind"),
    [
        (HTSVC(), 2, BinaryCertificate),
        (HTSVC(), 3, MulticlassCertificate),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_every_certificate_has(model, classes, kind):
    certificate = model.fit(*data(classes)).certificate_[0]
    assert isinstance(certificate, kind)
    assert isinstance(certificate, Certificate)
    table = certificate.to_dict()
    assert table.keys() >= SHARED
    assert json.loads(json.dumps(table))["certified"] is True
    assert certificate.residual <= certificate.tol
    text = str(certificate)
    for part in ("certified", "objective", f"{certificate.residual:.1e}"):
        assert part in text


@dataclass(frozen=True, eq=False, kw_only=True)
class WithAnotherCheck(BinaryCertificate):
    """Asks in addition what share of the multipliers is beyond their bounds."""

    excess: float

    @property
    def residual(self):
        return max(super().residual, self.excess)

    def _measures(self):
        return [*super()._measures(), ("  excess", f"{self.excess:.2e}")]


def test_a_check_from_outside():
    known = HTSVC().fit(*data(2)).certificate_[0]
    values = {f.name: getattr(known, f.name) for f in fields(known)}
    assert WithAnotherCheck(**values, excess=0.0).certified
    refused = WithAnotherCheck(**values, excess=0.5)
    assert not refused.certified
    assert refused.to_dict()["excess"] == refused.residual == 0.5
    assert re.search(r"  excess +5.00e-01$", str(refused), re.M)
    assert re.search(r"  prox .*\(nu = ", str(refused))


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanCertificate(Certificate):
    """How far a number is from a mean, by the duality gap."""

    @property
    def residual(self):
        return self.relative_duality_gap


@dataclass(frozen=True)
class Mean:
    """min over b of sum_i (b - v_i)² / 2: a problem from outside."""

    values: tuple

    def objective(self, b):
        return float(np.sum((b - np.array(self.values)) ** 2)) / 2


@register_certificate(Mean)
def certify_mean(problem, coef, intercept, multipliers, tol):
    objective = problem.objective(intercept)
    gap = objective - problem.objective(np.mean(problem.values))
    return MeanCertificate(objective=objective, duality_gap=gap, tol=tol)


def test_a_problem_from_outside_brings_its_certificate():
    problem = Mean((1.0, 2.0, 6.0))
    for b, good in ((3.0, True), (3.5, False)):
        result = SolverResult(np.zeros(0), b, np.zeros(0), problem.objective(b))
        certificate = certify_result(problem, result, 1e-6)
        assert certificate.certified == good
        assert certificate.objective == problem.objective(b)
    with pytest.raises(TypeError, match="no certificate is known for problems of the type str"):
        certify_result("problem", result, 1e-6)


def test_rounding_excuses_little():
    def certificate(residual, floor, tol=1e-9):
        return MeanCertificate(objective=1.0, duality_gap=residual, tol=tol, rounding_floor=floor)

    assert certificate(1e-10, 0.0).certified
    assert not certificate(1e-8, 0.0).certified
    assert certificate(1e-8, 1e-7).certified
    refused = certificate(0.92, 24.6, tol=1e-3)
    assert not refused.certified
    assert refused.threshold == 1e-3
    assert "floating point" in refused.notes[0]


def test_an_objective_of_zero():
    assert MeanCertificate(objective=0.0, duality_gap=0.0, tol=1e-3).certified
    assert not MeanCertificate(objective=0.0, duality_gap=1.0, tol=1e-3).certified
    assert math.isnan(MeanCertificate(objective=1.0, tol=1e-3).duality_gap)
