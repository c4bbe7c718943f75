"""A fit that would not fit into memory says so before it starts."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC, KernelHTSVC, MultiViewHTSVC
from htsvm.svm import memory


@pytest.fixture
def little(monkeypatch):
    """Let there be 150 MB."""
    monkeypatch.setattr(memory, "available", lambda: 150e6)


def far_too_large(kind):
    """Return data that takes no memory itself: one row, seen again and again."""
    row = np.zeros((1, 1000), dtype=kind)
    return np.broadcast_to(row, (40_000, 1000))


@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_the_copy_is_refused_beforehand(little, kind):
    X, y = far_too_large(kind), np.arange(40_000) % 2
    with pytest.raises(MemoryError, match=r"HTSVC would need about 325 MB.*150 MB.*C-ordered"):
        HTSVC().fit(X, y)


def test_what_needs_no_copy_is_fitted(little):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    assert HTSVC().fit(X, X[:, 0] > 0.0).score(X, X[:, 0] > 0.0) > 0.9
    memory.check_memory("HTSVC", np.zeros((30_000, 1000), dtype=np.float32))


def test_many_rows_need_vectors(little):
    rows = np.broadcast_to(np.zeros((1, 1)), (2_000_000, 1))
    with pytest.raises(MemoryError, match="beside X"):
        memory.check_memory("HTSVC", rows)
    with pytest.raises(MemoryError, match="Fit a Dask array"):
        memory.check_memory("HTSVC", np.zeros((2_000_000, 1)))


@pytest.mark.parametrize("views", [list, lambda parts: dict(enumerate(parts))])
def test_views_count_together(little, views):
    """Two views of 80 MB each, which have to be copied: nothing was said of lists of views."""
    part = np.broadcast_to(np.zeros((1, 250), dtype=np.int8), (40_000, 250))
    with pytest.raises(MemoryError, match=r"MultiViewHTSVC would need about 170 MB"):
        MultiViewHTSVC().fit(views([part, part]), np.arange(40_000) % 2)


def test_what_a_copy_takes():
    X = np.ones((10, 4))
    assert memory.bytes_of_copy(X) == 0.0
    assert memory.bytes_of_copy(np.asfortranarray(X)) == 320.0
    assert memory.bytes_of_copy(X.astype(int)) == 320.0
    assert memory.bytes_of_copy(sp.csr_matrix(X)) == 0.0
    assert memory.bytes_of_copy(sp.csc_matrix(X)) == 480.0
    assert memory.bytes_of_copy([[1.0]]) == 0.0


def test_what_the_system_says(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == np.inf
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2000 kB\n")
    assert memory.available() == 2000 * 1024
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 50000\n")
    assert memory.available() == 150_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() == 2000 * 1024


def test_a_kernel_matrix_says_so_too():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    with pytest.raises(MemoryError, match="memory_limit=1"):
        KernelHTSVC(n_landmarks=None, memory_limit=1).fit(X, X[:, 0] > 0.0)
