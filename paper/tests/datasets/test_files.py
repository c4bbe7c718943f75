from __future__ import annotations

import bz2
import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm_paper.datasets import DataContentError, DataFileError, describe, load, names
from htsvm_paper.datasets.dataset import content_digest
from htsvm_paper.datasets.files import DataFile, LocalCopy, checksums, fetch

CONTENT = b"some rows\n"
BOX = Path(__file__).parents[3] / "data"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folders(tmp_path, monkeypatch, only_named_folders):
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("HTSVM_DATA", str(data))
    monkeypatch.delenv("HTSVM_OFFLINE", raising=False)
    return data, cache


@pytest.fixture
def server(tmp_path):
    """Return the address of a web server, and the folder that it serves."""
    folder = tmp_path / "web"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}", folder
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def put(folder, place, content=CONTENT):
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_the_data_folder_comes_before_the_cache(folders):
    data, cache = folders
    wanted = DataFile("uci/x.data", SHA256)
    in_cache = put(cache, "uci/x.data")
    assert fetch(wanted) == LocalCopy(in_cache, "the cache")
    in_data = put(data, "uci/x.data")
    assert fetch(wanted) == LocalCopy(in_data, "HTSVM_DATA")


def test_a_wrong_checksum_is_refused(folders):
    data, cache = folders
    put(data, "uci/x.data", b"something else\n")
    put(cache, "uci/x.data")
    with pytest.raises(DataFileError, match=rf"not the expected file.*{SHA256}.*not used"):
        fetch(DataFile("uci/x.data", SHA256))


def test_download_into_the_cache_and_only_once(folders, server, capfd):
    _, cache = folders
    address, web = server
    published = put(web, "x.data")
    wanted = DataFile("uci/x.data", SHA256, f"{address}/x.data", canonical=True)
    path = fetch(wanted).path
    assert path == cache / "uci" / "x.data"
    assert path.read_bytes() == CONTENT
    assert "100%" in capfd.readouterr().err, "no progress bar"
    published.unlink()
    assert fetch(wanted).path == path


def test_a_published_file_of_another_form_has_its_own_place(folders, server):
    _, cache = folders
    address, web = server
    put(web, "x", b"the same rows in another form\n")
    wanted = DataFile("libsvm/x.bz2", SHA256, f"{address}/x")
    assert fetch(wanted).path == cache / "canonical" / "x"
    assert fetch(wanted).path == cache / "canonical" / "x"


def test_a_download_with_the_wrong_checksum_is_refused(folders, server):
    _, cache = folders
    address, web = server
    put(web, "x.data", b"changed\n")
    with pytest.raises(DataFileError, match="no longer the expected file and was not used"):
        fetch(DataFile("uci/x.data", SHA256, f"{address}/x.data", canonical=True))
    assert not (cache / "uci" / "x.data").exists()


def test_offline_says_which_file_to_put_where(folders, server):
    data, _ = folders
    address, _ = server
    with pytest.raises(DataFileError) as caught:
        fetch(DataFile("libsvm/x.bz2", SHA256, f"{address}/gone"))
    message = str(caught.value)
    for part in ("gone cannot be reached (404", "libsvm/x.bz2", str(data)):
        assert part in message
    assert "\n" not in message


def test_a_host_that_cannot_be_reached_is_asked_once(folders, monkeypatch):
    import pooch

    asked = []

    def connect(url, **_):
        asked.append(url)
        raise ConnectionError("no way there")

    monkeypatch.setattr(pooch, "retrieve", connect)
    for name in ("x", "y"):
        with pytest.raises(DataFileError, match=r"here, and nowhere\.test cannot be reached\. Put"):
            fetch(DataFile(f"libsvm/{name}", SHA256, f"https://nowhere.test/{name}"))
    assert asked == ["https://nowhere.test/x"]


def test_no_connection_is_tried_when_told_to_be_offline(folders, monkeypatch, server):
    address, web = server
    put(web, "x.data")
    wanted = DataFile("uci/x.data", SHA256, f"{address}/x.data", canonical=True)
    monkeypatch.setenv("HTSVM_OFFLINE", "1")
    with pytest.raises(DataFileError, match="HTSVM_OFFLINE is set"):
        fetch(wanted)
    monkeypatch.setenv("HTSVM_OFFLINE", "0")
    fetch(wanted)


def test_the_checkout_comes_first_and_packed_files_serve(folders, monkeypatch, tmp_path):
    data, _ = folders
    wanted = DataFile("uci/x.data", SHA256, packed=("uci/x.data.bz2", SHA256))
    put(data, "uci/x.data")
    packed = put(tmp_path / "checkout", "uci/x.data.bz2")
    monkeypatch.setattr("htsvm_paper.datasets.files.checkout_folder", lambda: tmp_path / "checkout")
    assert fetch(wanted) == LocalCopy(packed, "the checkout")


def test_wrong_content_is_refused(folders, server):
    # Published files without a known checksum are still checked for size and class balance.
    data, _ = folders
    put(data, "canonical/haberman.data", b"30,64,1,1\n30,62,3,2\n")
    with pytest.raises(DataContentError, match=r"haberman .* rows: 2, expected 306"):
        load("haberman")


def test_rows_in_another_form_are_compared_with_those_known(folders, server):
    """The order of rows and the format of numbers play no part; one changed value does."""
    data, _ = folders
    lines = bz2.decompress((BOX / "uci" / "haberman.data.bz2").read_bytes()).decode().splitlines()
    other = [",".join(f"{float(value):.1f}" for value in line.split(",")[:3]) + "," +
             line.split(",")[3] for line in reversed(lines)]  # fmt: skip
    put(data, "canonical/haberman.data", "\n".join(other).encode())
    assert load("haberman").X.shape == (306, 3)
    changed = other[7].split(",")
    other[7] = ",".join([f"{float(changed[0]) + 1.0}", *changed[1:]])
    put(data, "canonical/haberman.data", "\n".join(other).encode())
    with pytest.raises(DataContentError, match=r"haberman has rows other than those known: their"):
        load("haberman")


def test_every_set_whose_file_has_no_checksum_has_one_of_its_rows():
    wanted = {
        name for name in names() if any(f.url and not f.canonical for f in describe(name).files)
    }
    assert wanted == set(checksums("contents.txt"))


def test_dense_and_sparse_rows_differ_only_by_content():
    X = np.array([[0.0, 1.5], [2.0, -0.0], [0.0, 1.5]])
    y = np.array([1, -1, 1])
    assert content_digest((X, y)) == content_digest((X[::-1], y[::-1]))
    assert content_digest((X, y)) != content_digest((X[:2], y[:2]))
    sparse = sp.csr_matrix(X)
    assert content_digest((sparse, y)) == content_digest((sparse[[2, 1, 0]], y[[2, 1, 0]]))
    assert content_digest((sparse, y)) != content_digest((sparse * 2.0, y))
    assert content_digest((X, y), (X, y)) != content_digest((X, y))
