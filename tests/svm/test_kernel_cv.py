"""`KernelHTSVCCV`: scikit-learn's contract on a small grid, what it chooses, what it is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import KernelHTSVC, KernelHTSVCCV
from htsvm.svm.choosing import MOST_LOWER, Choice, Held, agreements, slack, sparser

GRID = {"Cs": [1.0, 10.0], "cv": 3, "random_state": 0}


def moons(m=240):
    X, y = make_moons(m, noise=0.2, random_state=0)
    return X, np.where(np.arange(m) % 5 == 0, 1 - y, y), y


@parametrize_with_checks([KernelHTSVCCV(Cs=2, caps=[2.0], gammas=[0.5], cv=2, tol=1e-9)])
def test_contract(estimator, check):
    check(estimator)


# --------------------------------------------------------------------------- what is chosen


def held(margins, codes, support):
    """Return what held-out samples would say of a grid with one C."""
    shape = (1, len(margins), 1)
    return Held(
        decisions=np.asarray(margins, dtype=np.float32)[:, None, :, None],
        codes=codes, weights=np.ones(len(codes)), fold=np.zeros(len(codes), dtype=int),
        scores=np.zeros(shape), fit_seconds=np.zeros(shape), score_seconds=np.zeros(1),
        asked=False, support=np.asarray(support, dtype=float)[:, None],
    )  # fmt: skip


def chosen(found, place=(0, 0)):
    values = agreements(found)
    return sparser(found, values, Choice(place, values)).place


def test_of_points_that_are_hard_to_tell_apart_the_sparsest_is_taken():
    rng = np.random.default_rng(0)
    codes = np.arange(400) % 2
    best = np.where(codes == 1, 1.0, -1.0) + 0.5 * rng.normal(size=400)
    like = best + 0.05 * rng.normal(size=400)
    worse = best + 2.0 * rng.normal(size=400)
    constant = np.ones(400)
    found = held([best, like, worse, constant], codes, [300, 50, 10, 0])
    values = agreements(found)[:, 0]
    assert values[1] > values[0] - slack(values[0]) > values[2]
    assert chosen(found) == (1, 0)
    # What is sparse already stays, and so does what nobody else comes near.
    assert chosen(replace(found, support=found.support[::-1])) == (0, 0)
    assert chosen(held([best, worse], codes, [300, 10])) == (0, 0)
    order = sparser(found, agreements(found), Choice((0, 0), agreements(found))).order
    assert np.argmax(order) == 1


def test_a_point_of_as_high_agreement_but_clearly_more_mistakes_is_left():
    codes = np.arange(400) % 2
    rng = np.random.default_rng(0)
    best = np.where(codes == 1, 1.0, -1.0) * (0.01 + rng.exponential(size=400))
    # As sure as the best, but every twentieth sample is a little on the wrong side.
    other = np.where(np.arange(400) % 20 == 0, -0.001 * best, best)
    found = held([best, other], codes, [300, 10])
    values = agreements(found)[:, 0]
    assert values[0] - slack(values[0]) < values[1] < values[0]
    assert chosen(found) == (0, 0)
    few = held([best[:60], other[:60]], codes[:60], [300, 10])
    assert chosen(few) == (1, 0)


def test_the_more_the_best_agrees_the_less_may_others_agree_less():
    values = [slack(a) for a in (0.0, 0.5, 0.8, 0.95, 1.0)]
    assert values[0] == values[1] == MOST_LOWER
    assert np.all(np.diff(values) <= 0.0)
    assert values[-1] == 0.0
    # Decisions with few mistakes: what others lose by a twentieth of it is not chance.
    codes = np.arange(400) % 2
    best = np.where(codes == 1, 1.0, -1.0) + 0.1 * np.random.default_rng(0).normal(size=400)
    weaker = best + 0.45 * np.random.default_rng(1).normal(size=400)
    found = held([best, weaker], codes, [300, 10])
    agreed, less = agreements(found)[:, 0]
    assert agreed - MOST_LOWER < less < agreed - slack(agreed)
    assert chosen(found) == (0, 0)


def test_wrong_labels_do_not_become_support_vectors():
    X, noisy, y = moons(600)
    model = KernelHTSVCCV(random_state=0, Cs=[1.0, 10.0, 100.0], cv=3).fit(X, noisy)
    assert model.score(X, y) > 0.95
    assert np.isfinite(model.cap_)
    assert len(model.support_) < 0.15 * len(y)
    results = model.cv_results_
    assert results["rank_test_score"][model.best_index_] == 1
    assert results["params"][model.best_index_] == {
        "C": model.C_, "cap": model.cap_, "gamma": model.gamma_,
    }  # fmt: skip


def test_a_score_that_is_asked_for_decides_alone():
    X, noisy, _ = moons()
    model = KernelHTSVCCV(scoring="accuracy", **GRID).fit(X, noisy)
    assert model.best_score_ == pytest.approx(model.scores_.mean(axis=0).max())


def test_the_final_fit_is_the_model_at_the_chosen_point():
    X, noisy, _ = moons()
    found = KernelHTSVCCV(caps=np.inf, **GRID).fit(X, noisy)
    model = KernelHTSVC(found.C_, cap=np.inf, gamma=found.gamma_).fit(X, noisy)
    assert found.method_ == "exact"
    assert all(certificate.certified for certificate in found.certificate_)
    assert found.objective_ == pytest.approx(model.objective_, rel=1e-3)


# ---------------------------------------------------------------------------- what it is given


def test_sparse_rows_frames_weights_and_words():
    X, noisy, _ = moons()
    words = np.array(["no", "yes"])[noisy]
    plain = KernelHTSVCCV(**GRID).fit(X, words)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = KernelHTSVCCV(**GRID).fit(frame, words)
    assert list(named.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    sparse = KernelHTSVCCV(**GRID).fit(sp.csr_matrix(X), words)
    assert sp.issparse(sparse.support_vectors_)
    assert np.mean(sparse.predict(sp.csr_matrix(X)) == plain.predict(X)) > 0.98
    weighted = KernelHTSVCCV(**GRID).fit(X, words, sample_weight=np.full(len(X), 1.0))
    np.testing.assert_array_equal(weighted.predict(X), plain.predict(X))


def test_precomputed_kernels_and_kernels_without_gamma():
    X, noisy, y = moons()
    K = rbf_kernel(X, gamma=1.0)
    model = KernelHTSVCCV(kernel="precomputed", **GRID).fit(K, noisy)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert model.score(K, y) > 0.9
    assert model.scores_.shape == (3, 1, 3, 2)
    for kernel in ("linear", "cosine", lambda A, B: rbf_kernel(A, B, gamma=1.0)):
        assert len(KernelHTSVCCV(kernel=kernel, **GRID).fit(X, noisy).gammas_) == 1
    with pytest.raises(ValueError, match="has no gamma"):
        KernelHTSVCCV(kernel="linear", gammas=[1.0], **GRID).fit(X, noisy)
    with pytest.raises(ValueError, match="gammas must be positive"):
        KernelHTSVCCV(gammas=[0.0], **GRID).fit(X, noisy)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = KernelHTSVCCV(gammas=[0.25], **GRID).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.decision_function(X).shape == (150, 3)
