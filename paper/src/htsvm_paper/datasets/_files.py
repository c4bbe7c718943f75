"""Where a data file is found: the checkout, the data folder, the cache, then the web."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

FOLDER_VARIABLE = "HTSVM_DATA"
CACHE_VARIABLE = "HTSVM_CACHE"
OFFLINE_VARIABLE = "HTSVM_OFFLINE"
# Files as their home publishes them, where those differ byte by byte from ours.
CANONICAL = "canonical"
INSTALL = 'pip install "htsvm[datasets]"'
# Seconds to wait for a connection, and between two pieces of a file.
PATIENCE = (3.05, 60.0)
# Hosts that could not be reached, so that a second file of theirs fails at once.
_unreachable: dict[str, str] = {}


class DataFileError(OSError):
    """A data file is missing, cannot be downloaded, or is not the file it should be."""


@dataclass(frozen=True)
class DataFile:
    """A file, and what is known about it.

    Attributes
    ----------
    path : str
        Its place in the data folder, for instance ``"uci/iris.data"``.
    sha256 : str
        Its checksum.
    url : str, optional
        Where its canonical form is published; None where it is not.
    canonical : bool
        Whether the published file is this one, byte by byte. Otherwise the published file holds
        the same rows in another form: no checksum of the file is known, but one of its rows is
        (`_contents.py`).
    packed : tuple of (str, str), optional
        Place and checksum of a smaller file with the same content.
    """

    path: str
    sha256: str
    url: str | None = None
    canonical: bool = False
    packed: tuple[str, str] | None = None

    def places(self) -> Iterator[tuple[str, str | None]]:
        """Yield the relative paths under which the file may lie, with their checksums."""
        yield self.path, self.sha256
        if self.packed is not None:
            yield self.packed
        if self.url is not None and not self.canonical:
            yield f"{CANONICAL}/{self.url.rsplit('/', 1)[-1]}", None


@dataclass(frozen=True)
class Found:
    """A local copy of a data file.

    Attributes
    ----------
    path : Path
        Where it lies.
    origin : str
        How it was found, for people.
    checked : bool
        Whether its checksum was known and right; otherwise what it holds has to be checked.
    """

    path: Path
    origin: str
    checked: bool = True


def fetch(file: DataFile) -> Found:
    """Return a checked local copy, downloading it where it has to be.

    Parameters
    ----------
    file : DataFile
        What is wanted.

    Raises
    ------
    DataFileError
        If it cannot be had, or if what lies there has another checksum.
    """
    for folder, origin in _folders():
        for place, sha256 in file.places():
            path = folder / place
            if path.is_file():
                if sha256 is not None:
                    _check(path, sha256)
                return Found(path, origin, sha256 is not None)
    return Found(_download(file), f"downloaded from {file.url}", file.canonical)


def checkout_folder() -> Path | None:
    """Return ``data/`` of the checkout that this module runs from; None where installed."""
    source = Path(__file__).resolve().parents[2]
    folder = source.parent / "data"
    in_checkout = source.name == "src" and (source.parent / "pyproject.toml").is_file()
    return folder if in_checkout and folder.is_dir() else None


def _folders() -> Iterator[tuple[Path, str]]:
    checkout = checkout_folder()
    if checkout is not None:
        yield checkout, "the checkout"
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise DataFileError(f"{FOLDER_VARIABLE}={named} is not a folder.")
        yield folder, FOLDER_VARIABLE
    yield cache_folder(), "the cache"


def cache_folder() -> Path:
    """Return the folder for downloads: $HTSVM_CACHE, or the usual place of the system."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "htsvm"


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(path: Path, sha256: str) -> None:
    found = sha256_of(path)
    if found != sha256:
        raise DataFileError(
            f"{path} is not the expected file: its sha256 is {found}, expected {sha256}. "
            "It was not used; replace it, or move it away to have it downloaded again."
        )


def _download(file: DataFile) -> Path:
    if file.url is None:
        raise DataFileError(
            f"{file.path} is not here and not published for download. {_remedy(file)}"
        )
    host = urlsplit(file.url).netloc
    if os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0"):
        raise DataFileError(_not_here(file, f"{OFFLINE_VARIABLE} is set"))
    if host in _unreachable:
        raise DataFileError(_not_here(file, _unreachable[host]))
    try:
        import pooch
    except ImportError as error:
        raise DataFileError(_not_here(file, f"downloads need pooch: {INSTALL}")) from error
    place, sha256 = list(file.places())[0 if file.canonical else -1]
    target = cache_folder() / place
    try:
        done = pooch.retrieve(
            file.url,
            known_hash=sha256,
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(progressbar=True, timeout=PATIENCE),
        )
    except ValueError as error:  # pooch's word for a wrong checksum
        raise DataFileError(
            f"{file.url} is no longer the expected file and was not used: {error}"
        ) from error
    except OSError as error:  # every error of requests is one
        reason = f"{host} cannot be reached"
        if _answered(error):
            reason = f"{file.url} cannot be reached ({error})"
        else:
            _unreachable[host] = reason
        raise DataFileError(_not_here(file, reason)) from error
    return Path(done)


def _answered(error: OSError) -> bool:
    """Return whether the host said no, rather than nothing."""
    return getattr(error, "response", None) is not None


def _not_here(file: DataFile, reason: str) -> str:
    return f"{file.path} is not here, and {reason}. {_remedy(file)}"


def _remedy(file: DataFile) -> str:
    folder = os.environ.get(FOLDER_VARIABLE)
    where = f"in {folder}" if folder else f"in a folder and set {FOLDER_VARIABLE} to it"
    return f"Put it at {file.path} {where}."
