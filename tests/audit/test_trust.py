"""Trust, share and replacement: against sampling, simulation and the page's own arithmetic."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import htsvm.audit
from htsvm.audit import audit_labels
from htsvm.audit.page import _review
from htsvm.audit.trust import MEAN, SPREAD, Calibration, evidence, rows_to_review
from tests.audit.data import blobs

RNG = np.random.default_rng(0)


def simulated(n, seed):
    """Draw a data set as the prior has it: evidence, and which labels are right."""
    rng = np.random.default_rng(seed)
    b = rng.multivariate_normal(MEAN, SPREAD)
    own = rng.beta(4.0, 1.0, n)
    rows = evidence(own, (1.0 - own) * rng.uniform(0.5, 1.0, n), -own + 0.2 * rng.normal(size=n))
    return rows, rng.random(n) < expit(rows @ b), own < 0.5


def test_the_calibration_is_the_mode_of_the_posterior():
    rows, right, _ = simulated(60, 1)
    found = Calibration.of(rows, right)
    precision = np.linalg.inv(SPREAD)

    def log_posterior(b):
        line = b @ rows.T
        likely = np.where(right, -np.logaddexp(0.0, -line), -np.logaddexp(0.0, line)).sum(axis=-1)
        away = b - MEAN
        return likely - 0.5 * np.einsum("...i,ij,...j->...", away, precision, away)

    near = found.mean + 0.05 * RNG.normal(size=(2000, 4))
    assert log_posterior(near).max() <= log_posterior(found.mean) + 1e-9
    # Importance sampling from a wider normal: the spread is about that of the posterior.
    root = np.linalg.cholesky(2.0 * found.covariance)
    drawn = RNG.normal(size=(100_000, 4))
    b = found.mean + drawn @ root.T
    weights = log_posterior(b) + 0.5 * (drawn**2).sum(axis=1)
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    middle = weights @ b
    spread = np.sqrt(weights @ (b - middle) ** 2)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), spread, rtol=0.25)


def test_without_a_review_the_prior_is_left():
    found = Calibration.of(np.zeros((0, 4)), np.zeros(0, dtype=bool))
    np.testing.assert_allclose(found.mean, MEAN)
    np.testing.assert_allclose(found.covariance, SPREAD)


def test_the_range_of_the_share_holds_and_trust_is_calibrated():
    held, errors, gaps = [], [], []
    for seed in range(120):
        rows, right, odd = simulated(1500, seed)
        seen = rows_to_review(odd, np.ones(1500, dtype=bool), 50, seed)
        free = np.setdiff1d(np.arange(1500), seen)
        found = Calibration.of(rows[seen], right[seen])
        share, low, high = found.share(rows[free], np.ones(len(free)))
        truth = np.mean(~right[free])
        held.append(low <= truth <= high)
        errors.append(abs(share - truth))
        trust = found.trust(rows[free])
        groups = np.minimum((10 * trust).astype(int), 9)
        gaps.append(sum(abs(np.sum(trust[groups == g] - right[free][groups == g]))
                        for g in range(10)) / len(free))  # fmt: skip
    assert np.mean(held) >= 0.85
    assert np.mean(errors) < 0.03
    assert np.mean(gaps) < 0.06


def test_rows_to_review_are_half_suspects():
    odd = np.arange(1000) < 100
    rows = rows_to_review(odd, np.ones(1000, dtype=bool), 50, 3)
    assert len(np.unique(rows)) == 50
    assert odd[rows].sum() == 25
    free = np.arange(1000) >= 90
    assert odd[rows_to_review(odd, free, 50, 3)].sum() == 10  # All there are.
    assert len(rows_to_review(odd, free, 5000, 3)) == 910
    assert len(rows_to_review(odd, ~odd & False, 50, 3)) == 0


@pytest.fixture(scope="module")
def reviewed():
    X, y, true, _ = blobs(900, rate=0.2, spread=2.5)
    audit = audit_labels(X, y, quality="fast")
    rows = audit.rows_to_review()
    return audit, audit.update(rows, true[rows]), y, true, rows


def test_before_a_review_nothing_is_claimed_but_an_upper_end(reviewed):
    audit, _, y, true, _ = reviewed
    share = audit.share_wrong
    assert share.value is None
    assert share.low == 0.0
    assert np.mean(y != true) <= share.high <= np.mean(audit.best != y) + 0.05
    assert "at most" in str(share)
    assert "review" in audit.summary
    with pytest.raises(ValueError, match="50 reviewed rows, and there are 0"):
        audit.corrected_labels("replace")
    order = np.argsort(-audit.order, kind="stable")
    assert np.all(np.diff(audit.trust[order]) >= 0.0)


def test_fifty_reviewed_rows_tell_the_share_and_the_trust(reviewed):
    audit, after, y, true, rows = reviewed
    assert (audit.n_reviewed, after.n_reviewed) == (0, 50)
    assert after.share_wrong.low <= np.mean(y != true) <= after.share_wrong.high
    assert after.share_wrong.high - after.share_wrong.low < 0.15
    assert after.share_wrong.value == pytest.approx(np.mean(y != true), abs=0.03)
    np.testing.assert_array_equal(after.trust[rows], y[rows] == true[rows])
    free = np.setdiff1d(np.arange(900), rows)
    trust, right = after.trust[free], (y == true)[free]
    off = np.bincount((9.999 * trust).astype(int), weights=trust - right)
    assert np.abs(off).sum() / len(free) < 0.06
    table = after.reliability()
    assert table["labels"].sum() == 900
    assert table["reviewed"].sum() == 50
    assert not set(after.rows_to_review()) & set(rows)


def test_replacing_after_a_review_gains(reviewed):
    _, after, y, true, rows = reviewed
    mended = after.corrected_labels("replace")
    assert np.mean(mended == true) > np.mean(y == true) + 0.05
    np.testing.assert_array_equal(mended[rows], true[rows])
    np.testing.assert_array_equal(np.asarray(after.corrected_labels())[rows], true[rows])


def test_a_review_without_gain_replaces_nothing(reviewed):
    audit, _, y, _, rows = reviewed
    all_right = audit.update(rows, y[rows])
    np.testing.assert_array_equal(all_right.corrected_labels("replace"), y)
    assert all_right.share_wrong.low == 0.0


def test_a_right_label_that_is_no_class(reviewed):
    audit, _, y, _, rows = reviewed
    after = audit.update(rows, np.where(np.arange(50) < 5, 99, y[rows]))
    assert np.all(after.trust[rows[:5]] == 0.0)
    assert after.n_reviewed == 50


@pytest.mark.parametrize(
    ("rows", "labels"),
    [([0, 0], [1, 1]), ([-1], [0]), ([900], [0]), ([1, 2], [0]), ([0.5], [0])],
)
def test_odd_reviews_are_refused(reviewed, rows, labels):
    with pytest.raises(ValueError, match="rows"):
        reviewed[0].update(rows, labels)


def test_the_page_computes_the_same(reviewed):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the script of the page")
    audit, after, y, true, rows = reviewed
    seen = [[audit.evidence[row, 1:].tolist(), int(y[row] == true[row])] for row in rows]
    script = (Path(htsvm.audit.__file__).parent / "review.js").read_text()
    script += f"""
    const review = {json.dumps(_review(audit))}, rows = {json.dumps(seen)};
    const found = htsvmReview.calibrate(review, rows);
    const trust = review.sample.map((evidence) => htsvmReview.trust(found, evidence));
    const share = htsvmReview.share(found, review.sample, review.weight, review.free);
    console.log(JSON.stringify({{ mean: found.mean, share, trust }}));
    """
    done = subprocess.run([node, "-"], input=script, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    np.testing.assert_allclose(found["mean"], after.calibration.mean, rtol=1e-6)
    np.testing.assert_allclose(found["trust"], after.calibration.trust(after.evidence), atol=2e-3)
    expected = after.calibration.share(after.evidence, after.weights)
    np.testing.assert_allclose(found["share"], expected, atol=1e-3)
