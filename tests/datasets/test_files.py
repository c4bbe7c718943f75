from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from htsvm.datasets import DataContentError, DataFileError, describe, load, names
from htsvm.datasets._files import DataFile, fetch

CONTENT = b"some rows\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folders(tmp_path, monkeypatch):
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("HTSVM_DATA", str(data))
    monkeypatch.setenv("HTSVM_CACHE", str(cache))
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
    assert fetch(wanted) == in_cache
    in_data = put(data, "uci/x.data")
    assert fetch(wanted) == in_data


def test_a_wrong_checksum_is_refused(folders):
    data, cache = folders
    put(data, "uci/x.data", b"something else\n")
    put(cache, "uci/x.data")
    with pytest.raises(DataFileError, match=rf"not the expected file.*{SHA256}.*not used"):
        fetch(DataFile("uci/x.data", SHA256))


def test_a_folder_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HTSVM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataFileError, match="nowhere is not a folder"):
        load("iris")


def test_download_into_the_cache_and_only_once(folders, server, capfd):
    _, cache = folders
    address, web = server
    published = put(web, "x.data")
    wanted = DataFile("uci/x.data", SHA256, f"{address}/x.data", canonical=True)
    path = fetch(wanted)
    assert path == cache / "uci" / "x.data"
    assert path.read_bytes() == CONTENT
    assert "100%" in capfd.readouterr().err, "no progress bar"
    published.unlink()
    assert fetch(wanted) == path


def test_a_published_file_of_another_form_has_its_own_place(folders, server):
    _, cache = folders
    address, web = server
    put(web, "x", b"the same rows in another form\n")
    wanted = DataFile("libsvm/x.bz2", SHA256, f"{address}/x")
    assert fetch(wanted) == cache / "canonical" / "x"
    assert fetch(wanted) == cache / "canonical" / "x"


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
    for part in ("cannot be downloaded", "libsvm/x.bz2", SHA256, "canonical/gone", str(data)):
        assert part in message


def test_what_is_not_published_says_so(folders, monkeypatch):
    with pytest.raises(DataFileError, match=r"not published for download.*Put images/stl10"):
        load("stl10")
    monkeypatch.delenv("HTSVM_DATA")
    with pytest.raises(DataFileError, match="set HTSVM_DATA to it"):
        load("stl10")


def test_unknown_names_list_the_nearest():
    with pytest.raises(ValueError, match=r"Unknown data set 'brest-cancer'; did you mean breast-"):
        load("brest-cancer")
    with pytest.raises(ValueError, match=r"Unknown data set 'A9A'; did you mean a9a"):
        load("A9A")
    with pytest.raises(ValueError, match="there are australian"):
        describe("§§§")
    with pytest.raises(ValueError, match="kind must be one of"):
        names("triple-view")


def test_wrong_content_is_refused(folders, server):
    # Published files without a known checksum are still checked for size and class balance.
    data, _ = folders
    put(data, "canonical/haberman.data", b"30,64,1,1\n30,62,3,2\n")
    with pytest.raises(DataContentError, match=r"haberman .* rows: 2, expected 306"):
        load("haberman")
