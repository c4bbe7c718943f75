"""Files as sources: memory-mapped arrays, Parquet and LIBSVM text."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from htsvm import HTSVC
from tests.distributed.data import assert_same_fit, noisy, thinned

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")

from htsvm.distributed import read_libsvm, read_npy  # noqa: E402


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    X, y = noisy(900, 7, seed=41)
    X = thinned(X)
    path = tmp_path_factory.mktemp("libsvm") / "data.txt"
    dump_svmlight_file(X, np.where(y == 1, 1, -1), str(path), zero_based=False)
    return path


@pytest.mark.parametrize("blocksize", [700, "5kB", "1GB"])
def test_libsvm_is_read_whole(text, blocksize):
    X, y = read_libsvm(text, blocksize=blocksize)
    expected, labels = load_svmlight_file(str(text), zero_based=False)
    assert X.shape == expected.shape
    assert all(length > 0 for length in X.chunks[0])
    block = X.blocks[0].compute(scheduler="synchronous")
    assert sp.issparse(block)
    rows = sp.vstack([X.blocks[k].compute() for k in range(X.numblocks[0])])
    assert (abs(rows - expected)).max() == 0.0
    np.testing.assert_array_equal(y.compute(), labels)


def test_libsvm_comments_blank_lines_and_no_last_newline(tmp_path):
    path = tmp_path / "odd.txt"
    path.write_text("# a heading\n+1 1:2 # a note 9:9\n\n-1 4:1.5\n-1\n+1 2:1")
    for blocksize in (1, 10, 10_000):
        X, y = read_libsvm(path, blocksize=blocksize)
        np.testing.assert_array_equal(y.compute(), [1, -1, -1, 1])
        dense = np.vstack([X.blocks[k].compute().toarray() for k in range(X.numblocks[0])])
        np.testing.assert_array_equal(
            dense, [[2, 0, 0, 0], [0, 0, 0, 1.5], [0, 0, 0, 0], [0, 1, 0, 0]]
        )
    X, _ = read_libsvm(path, n_features=6, zero_based=True, dtype=np.float32)
    assert X.shape == (4, 6)
    assert X.blocks[0].compute().dtype == np.float32


def test_libsvm_bad_input(tmp_path, text):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_libsvm(tmp_path / "nowhere.txt")
    with pytest.raises(ValueError, match="blocksize must be positive, got 0"):
        read_libsvm(text, blocksize=0)
    with pytest.raises(ValueError, match="n_features must be positive"):
        read_libsvm(text, n_features=0)
    empty = tmp_path / "empty.txt"
    empty.write_text("# nothing\n")
    with pytest.raises(ValueError, match="no samples"):
        read_libsvm(empty)
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("+1 1:one\n-1 1:2\n")
    with pytest.raises(ValueError, match=r"wrong\.txt"):
        read_libsvm(wrong)[0].compute()


@pytest.mark.filterwarnings("ignore::htsvm.IgnoredClassWarning")
@pytest.mark.parametrize("stream", [False, True])
def test_fit_from_libsvm(text, stream):
    expected = HTSVC().fit(*load_svmlight_file(str(text), zero_based=False))
    with dask.config.set({"htsvm.stream": stream}):
        # Blocks of text end elsewhere than blocks of rows: sums are rounded in another order.
        assert_same_fit(HTSVC().fit(*read_libsvm(text, blocksize="10kB")), expected, tol=1e-6)


def test_fit_from_a_memory_map(tmp_path):
    X, y = noisy(2_000, 5, seed=42)
    np.save(tmp_path / "X.npy", X)
    mapped = read_npy(tmp_path / "X.npy", blocksize=20_000)
    assert mapped.chunks == ((500,) * 4, (5,))
    block = mapped.blocks[1].compute()
    np.testing.assert_array_equal(block, X[500:1000])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_npy(tmp_path / "nowhere.npy")
    with pytest.raises(ValueError, match="blocksize must be positive"):
        read_npy(tmp_path / "X.npy", blocksize=0)
    with dask.config.set({"htsvm.stream": True}):
        assert_same_fit(HTSVC().fit(mapped, y), HTSVC().fit(X, y))


@pytest.mark.filterwarnings("ignore:.*inplace keyword")
def test_fit_from_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = noisy(800, 4, seed=43)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    dd.from_pandas(frame, npartitions=3).to_parquet(tmp_path / "table")
    table = dd.read_parquet(tmp_path / "table")
    with dask.config.set({"htsvm.stream": True}):
        blocks = HTSVC().fit(table[list("abcd")], table["label"])
    local = HTSVC().fit(frame[list("abcd")], y)
    assert_same_fit(blocks, local)
    score = blocks.score(table[list("abcd")], table["label"])
    assert score == pytest.approx(local.score(frame[list("abcd")], y))


def test_dask_is_not_imported_without_need():
    code = (
        "import sys, numpy as np, htsvm; htsvm.HTSVC().fit(np.eye(4), [0, 1, 0, 1]);"
        "sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=dict(os.environ))
