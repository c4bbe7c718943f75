"""`audit_labels` as a user meets it."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from htsvm import HTSVC, MultiViewHTSVC
from htsvm.audit import audit_labels
from tests.audit.data import blobs


def test_wrong_labels_are_found_and_corrected():
    X, y, true, wrong = blobs()
    audit = audit_labels(X, y)
    assert roc_auc_score(wrong, -audit.trust) > 0.99
    rows = audit.rows_to_review()
    mended = audit.update(rows, true[rows]).corrected_labels("replace")
    assert np.mean(mended == true) > 0.98
    assert np.array_equal(audit.is_issue(), audit.to_frame()["is_label_issue"])
    assert audit.ignored[wrong].mean() > 1.5 > 0.5 > audit.ignored[~wrong].mean()


def test_systematic_noise_is_seen_in_the_matrix():
    X, _, true, _ = blobs(600, rate=0.0)
    moved = (true == 1) & (np.random.default_rng(0).random(600) < 0.3)
    audit = audit_labels(X, np.where(moved, 2, true))
    assert audit.noise_matrix[1, 2] == pytest.approx(0.3, abs=0.08)
    assert audit.noise_matrix[2, 1] < 0.15


@pytest.mark.parametrize(
    "model",
    [HTSVC(), LogisticRegression(), RandomForestClassifier(30, random_state=0),
     make_pipeline(StandardScaler(), HTSVC(cap=2.0))],
    ids=["HTSVC", "logistic", "forest", "pipeline"],
)  # fmt: skip
def test_any_model(model):
    X, y, _, wrong = blobs()
    audit = audit_labels(X, y, model=model)
    assert roc_auc_score(wrong, -audit.trust) > 0.97
    assert audit.fits == 5
    assert not hasattr(model, "classes_")  # It was cloned.


@pytest.mark.parametrize("model", [None, MultiViewHTSVC()], ids=["kernel", "multiview"])
def test_views(model):
    X, y, _, wrong = blobs()
    audit = audit_labels({"a": X[:, :2], "b": X[:, 2:]}, y, model=model)
    assert roc_auc_score(wrong, -audit.trust) > 0.97


def test_list_of_views_is_a_mapping_of_views():
    X, y, _, _ = blobs()
    first = audit_labels([X[:, :2], X[:, 2:]], y)
    second = audit_labels({"a": X[:, :2], "b": X[:, 2:]}, y)
    np.testing.assert_allclose(first.trust, second.trust)


def test_sparse_is_dense():
    X, y, _, _ = blobs()
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    np.testing.assert_allclose(
        audit_labels(sp.csr_matrix(X), y, quality="fast").trust,
        audit_labels(X, y, quality="fast").trust,
        atol=1e-6,
    )


def test_labels_of_any_type_and_the_index():
    X, y, _, _ = blobs()
    names = np.array(["ant", "bee", "cat"])[y]
    index = [f"s{i}" for i in range(len(y))]
    audit = audit_labels(pd.DataFrame(X, index=index), pd.Series(names, index=index))
    np.testing.assert_allclose(audit.trust, audit_labels(pd.DataFrame(X), y).trust)
    frame = audit.to_frame()
    assert frame.index.tolist() == index
    assert list(frame)[:4] == ["is_label_issue", "label_score", "given_label", "predicted_label"]
    assert set(frame["predicted_label"]) == {"ant", "bee", "cat"}


def test_lists_and_other_frames_are_taken():
    X, y, _, _ = blobs(90)
    expected = audit_labels(X, y).to_frame()
    pd.testing.assert_frame_equal(audit_labels(X.tolist(), y.tolist()).to_frame(), expected)
    arrow = pytest.importorskip("pyarrow")
    columns = {f"x{j}": X[:, j] for j in range(4)} | {"note": ["some", "other"] * 45}
    frame = audit_labels(arrow.table(columns), y).to_frame()
    pd.testing.assert_frame_equal(frame, audit_labels(pd.DataFrame(columns), y).to_frame())


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda f: f.assign(z="a b").to_numpy(), "X holds what is no number .*pandas.DataFrame"),
     (lambda f: f.set_axis(["p", "p", *f.columns[2:]], axis=1), "two columns named 'p'"),
     (lambda f: {"v": f.set_axis(["p"] * 4, axis=1)}, "v has two columns named 'p'")],
)  # fmt: skip
def test_frames_that_cannot_be_read(change, words):
    X, y, _, _ = blobs(90)
    with pytest.raises(ValueError, match=words):
        audit_labels(change(pd.DataFrame(X)), y)


def test_infinite_and_huge_values_count_as_missing():
    X, y, _, _ = blobs(90)
    gone, odd = X.copy(), X.copy()
    gone[[3, 40, 41], 0] = np.nan
    odd[[3, 40, 41], 0] = [np.inf, -1.7e308, 1e200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = audit_labels(odd, y)
    np.testing.assert_allclose(audit.trust, audit_labels(gone, y).trust)
    assert "3 infinite or too large values" in audit.findings[-1].text


def test_different_indices_are_an_error():
    X, y, _, _ = blobs()
    frame, labels = pd.DataFrame(X), pd.Series(y)
    with pytest.raises(ValueError, match=r"different indices: row 0 is 0 in X and 239 in y"):
        audit_labels(frame, labels[::-1])
    with pytest.raises(ValueError, match=r"y.loc\[all.index\]"):
        audit_labels({"all": frame}, labels[::-1])
    with pytest.raises(ValueError, match="view 1 and view 2 have different indices"):
        audit_labels([frame, frame[::-1]], y)
    for option in ("trusted", "sample_weight"):
        other = pd.Series(np.arange(240) < 50)[::-1]
        with pytest.raises(ValueError, match=f"X and {option} have different indices"):
            audit_labels(frame, labels, **{option: other})
    assert len(audit_labels(frame, labels[::-1].to_numpy())) == 240


def mixed_frame(n=240):
    X, y, true, _ = blobs(n)
    frame = pd.DataFrame({
        "size": X[:, 0], "colour": pd.Categorical(np.array(["red", "green", "blue"])[true]),
        "note": [f"a {['big', 'wee', 'odd'][k]} thing number {i}" for i, k in enumerate(true)],
        "day": pd.date_range("2020", periods=3)[true], "gone": [np.inf, *[np.nan] * (n - 1)],
    })  # fmt: skip
    return frame, np.array(["ant", "bee", "cat"])[y], y == true


def test_a_frame_with_text_dates_and_categories_is_read_as_on_the_command_line():
    frame, y, right = mixed_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        audit = audit_labels(frame, y)
    assert roc_auc_score(right, audit.trust) > 0.95
    said = " ".join(finding.text for finding in audit.findings)
    assert "'note' was read as text" in said
    assert "'gone' is empty" in said


def test_a_pipeline_gets_the_frame():
    frame, y, right = mixed_frame()
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"])),
        LogisticRegression(),
    )
    audit = audit_labels(frame, y, model=model)
    assert roc_auc_score(right, audit.trust) > 0.95


def test_missing_labels_of_every_kind_are_named():
    X, y, _, _ = blobs(60)
    days = np.array(["2020", "2021", "2022"], dtype="datetime64[D]")[y]
    for gone in (None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT")):
        labels = np.array(["ant", "bee", "cat"], dtype=object)[y]
        labels = days if isinstance(gone, np.datetime64) else labels
        labels[7] = gone
        with pytest.raises(ValueError, match="1 missing labels, the first in row 7"):
            audit_labels(X, labels)


def test_trusted_labels_are_never_suspected_and_teach():
    X, y, true, _ = blobs(300, rate=0.3)
    trusted = np.arange(300) < 100
    mended = np.where(trusted, true, y)
    audit = audit_labels(X, mended, trusted=trusted)
    assert np.all(audit.trust[trusted] == 1.0)
    assert not audit.is_issue()[trusted].any()
    assert audit.share_wrong.value is None  # Nobody said what these labels were before.
    told = audit_labels(X, mended, trusted=trusted, given=y)
    assert told.n_reviewed == 100
    assert told.share_wrong.value == pytest.approx(np.mean(mended != true), abs=0.04)
    assert told.share_wrong.low <= np.mean(mended != true) <= told.share_wrong.high


def test_weights_of_zero_take_samples_out():
    X, y, _, _ = blobs()
    kept = np.arange(len(y)) % 3 > 0
    X_odd = np.where(kept[:, None], X, 3.0)
    options = {"sample_weight": kept.astype(float), "quality": "fast"}
    weighted = audit_labels(X_odd, y, **options)
    other = audit_labels(X_odd, np.where(kept, y, 0), **options)
    np.testing.assert_allclose(weighted.order[kept], other.order[kept], atol=1e-3)


def test_missing_values_and_wide_columns():
    X, y, _, wrong = blobs()
    X = X * [1.0, 1.0, 1000.0, 1.0]
    X[3, 0] = np.nan
    audit = audit_labels(X, y)
    assert roc_auc_score(wrong, -audit.trust) > 0.98
    assert {"missing", "note"} <= {finding.kind for finding in audit.findings}
    assert np.isnan(X[3, 0])  # The input is left alone.


def test_neighbours_are_confirmed_and_of_the_two_classes():
    X, y, _, _ = blobs()
    audit = audit_labels(X, y)
    rows = np.flatnonzero(audit.is_issue())[:5]
    found = audit.neighbours(rows, k=2)
    for row in rows:
        for part, codes in (("given", audit.codes), ("suggested", audit.suggested)):
            near = found[row][part]
            assert len(near) == 2
            assert row not in near
            assert np.all(audit.codes[near] == codes[row])
            assert np.all(audit.suggested[near] == audit.codes[near])
        pool = np.flatnonzero((audit.codes == audit.suggested[row])
                              & (audit.suggested == audit.codes))  # fmt: skip
        pool = pool[audit.trust[pool] >= np.median(audit.trust[pool])]
        nearest = pool[np.argmin(((X[pool] - X[row]) ** 2).sum(axis=1))]
        assert found[row]["suggested"][0] == nearest


def test_dask_collections_are_brought_into_memory():
    da = pytest.importorskip("dask.array")
    X, y, _, _ = blobs(240)
    audit = audit_labels(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
    np.testing.assert_array_equal(audit.trust, audit_labels(X, y).trust)


def test_same_seed_same_audit():
    X, y, _, _ = blobs(900)
    first, second = (audit_labels(X, y, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.trust, second.trust)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros(60), "only one class"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "row 7"),
        (np.arange(60), "two samples per class"),
        (np.array(["a", 1] * 30, dtype=object), "mixes labels"),
        (np.ones((60, 2)), "one label per sample"),
        (np.ones(59, dtype=int) + (np.arange(59) % 2), "60 rows"),
    ],
)
def test_bad_labels(labels, words):
    with pytest.raises(ValueError, match=words):
        audit_labels(np.random.default_rng(0).normal(size=(60, 2)), labels)


def test_too_many_classes():
    y = np.repeat(np.arange(10_000), 3)
    with pytest.raises(ValueError, match="10000 different labels"):
        audit_labels(np.zeros((30_000, 1)), y)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"model": StandardScaler()}, TypeError, "decision_function"),
        ({"model": LogisticRegression(), "cv": 1}, ValueError, "cv must"),
        ({"trusted": [1, 0]}, ValueError, "trusted must"),
        ({"sample_weight": -np.ones(240)}, ValueError, "sample_weight must"),
        ({"sample_weight": np.zeros(240)}, ValueError, "zero for all"),
    ],
)
def test_bad_options(options, error, words):
    X, y, _, _ = blobs()
    with pytest.raises(error, match=words):
        audit_labels(X, y, **options)


def test_class_of_one_sample_needs_no_folds():
    X, y, _, _ = blobs()
    y[0] = 7
    assert len(audit_labels(X, y).classes) == 4
    with pytest.raises(ValueError, match="at least 2 of each class"):
        audit_labels(X, y, model=LogisticRegression())
