from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.plan import Plan
from benchmarks.sets import (
    SOURCES,
    MissingData,
    Source,
    dense,
    gaussians,
    predefined,
    published,
    select,
    text,
    uneven,
)


@pytest.mark.parametrize(
    ("made", "shape", "test_rows"),
    [
        (gaussians(200, 50), (200, 2), 50),
        (dense(300, 7, 40), (300, 7), 40),
        (uneven(3000, 40), (3000, 8), 40),
        (text(120, 400, 30, 20.0), (120, 400), 30),
    ],
    ids=["gaussians", "dense", "uneven", "text"],
)
def test_generated_shapes_and_labels(made, shape, test_rows):
    X, y, X_test, y_test = made
    assert X.shape == shape
    assert y.shape == shape[:1]
    assert X_test.shape == (test_rows, shape[1])
    assert y_test.shape == (test_rows,)
    assert set(np.unique(y)) == {-1, 1}
    assert X.dtype == np.float64


def test_gaussians_are_the_papers():
    X, y, _, _ = gaussians(20_000, 10)
    assert (y == 1).sum() == 10_000
    for sign, mean in ((1, [0.5, -3.0]), (-1, [-0.5, 3.0])):
        np.testing.assert_allclose(X[y == sign].mean(axis=0), mean, atol=0.06)
        np.testing.assert_allclose(X[y == sign].var(axis=0), [0.2, 3.0], rtol=0.06)


def test_text_is_normalised_csr_with_narrow_indices():
    X, _, X_test, _ = text(120, 400, 30, 20.0)
    for part in (X, X_test):
        assert sp.issparse(part)
        assert part.format == "csr"
        assert part.indices.dtype == part.indptr.dtype == np.int32
        np.testing.assert_allclose(np.sqrt(part.multiply(part).sum(axis=1)), 1.0)


def test_missing_data_say_why(tmp_path, monkeypatch, only_named_folders):
    monkeypatch.setenv("HTSVM_DATA", str(tmp_path))
    with pytest.raises(MissingData, match=r"Put it at large/SUSY_sample30000\.mat"):
        published("susy")


def test_predefined_split():
    X, y, X_test, y_test = predefined("a1a")
    assert X.shape == (1605, 123)
    assert X_test.shape == (30956, 123)
    assert set(y) == set(y_test) == {-1, 1}


def test_plan_skips_missing_sets(capsys):
    def missing():
        raise MissingData("it is not there")

    plan = Plan([Source("gone", missing), Source("small", lambda: gaussians(20, 5))])
    assert [data.name for data in plan.datasets()] == ["small"]
    assert "gone: skipped, it is not there" in capsys.readouterr().out


def test_select():
    assert [source.name for source in select(["w8a", "a9a"], quick=False)] == ["w8a", "a9a"]
    assert all(source.full for source in select(None, quick=False))
    assert all(source.quick for source in select(None, quick=True))
    assert len({source.name for source in SOURCES}) == len(SOURCES)
    with pytest.raises(ValueError, match="unknown sets"):
        select(["a99"], quick=False)
