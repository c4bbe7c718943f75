"""Fixtures that several test files share."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import pytest

from htsvm.linalg import _numpy, kernels

# Who may be talked to: this machine.
LOCAL = {"127.0.0.1", "::1", "localhost", "0.0.0.0", "::", ""}


def own_addresses() -> set[str]:
    """Return the names and addresses of this machine; Dask may use one of them."""
    names = {socket.gethostname()}
    with contextlib.suppress(OSError):
        names |= {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)}
    # An address of the interface that leads elsewhere; nothing is sent.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        probe.connect(("10.255.255.255", 1))
        names.add(probe.getsockname()[0])
    return names


@pytest.fixture(autouse=True, scope="session")
def no_network():
    """Let no test reach another machine."""
    allowed = LOCAL | own_addresses()
    patch = pytest.MonkeyPatch()

    def guarded(name):
        original = getattr(socket.socket, name)

        def connect(self, address):
            inside = self.family not in (socket.AF_INET, socket.AF_INET6)
            if not inside and str(address[0]) not in allowed:
                raise OSError(f"tests may not reach other machines: {address!r}")
            return original(self, address)

        return connect

    for name in ("connect", "connect_ex"):
        patch.setattr(socket.socket, name, guarded(name))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the large data sets, or skip the (slow) test where there is none."""
    named = os.environ.get("HTSVM_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        reason = f"HTSVM_DATA={named} is not a folder" if named else "HTSVM_DATA is not set"
        pytest.skip(f"needs data sets on disk: {reason}")
    return folder


@pytest.fixture(params=["active", "numpy"])
def backend(request, monkeypatch) -> str:
    """Use the compiled kernels, then their NumPy twins."""
    if request.param == "numpy":
        monkeypatch.setattr(kernels, "active", _numpy)
    elif not kernels.COMPILED:
        pytest.skip("the compiled kernels were not built")
    return str(request.param)


@pytest.fixture(scope="module")
def browser():
    """Run Chromium; skip where it, or playwright, is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from benchmarks.audit_page import FLAGS, browser_path

    path = browser_path()
    if path is None:
        pytest.skip("no Chromium found: set HTSVM_BROWSER to its path")
    with api.sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield shown
        shown.close()
