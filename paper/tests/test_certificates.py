"""The certificates of the rivals: a residual, a verdict, a text and a dictionary, as all have."""

import json

import numpy as np
import pytest

from htsvm.extend import Certificate
from htsvm_paper.baselines import SVM2K, MvLSSVC2C, WaveMvSVM
from htsvm_paper.certificates import GapCertificate, GradientCertificate

VIEWS = [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (SVM2K(views=VIEWS), GapCertificate),
        (WaveMvSVM(views=VIEWS), GradientCertificate),
        (MvLSSVC2C(views=VIEWS), GradientCertificate),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_every_certificate_has(model, kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    certificate = model.fit(rng.normal(size=(60, 4)) + y[:, None], y).certificate_[0]
    assert isinstance(certificate, kind)
    assert isinstance(certificate, Certificate)
    table = json.loads(json.dumps(certificate.to_dict()))
    assert table["certified"] is True
    assert certificate.residual <= certificate.tol
    for part in ("certified", "objective", f"{certificate.residual:.1e}"):
        assert part in str(certificate)


def test_a_change_of_the_weights_counts():
    settled = GapCertificate(objective=1.0, duality_gap=1e-9, tol=1e-6)
    assert settled.certified
    moving = GapCertificate(objective=1.0, duality_gap=1e-9, tol=1e-6, weight_change=0.1)
    assert not moving.certified
    assert not GradientCertificate(
        objective=1.0, stationarity=0.0, balance=0.0, tol=1e-6, weight_change=0.1
    ).certified
