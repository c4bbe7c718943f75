"""Where a data file is found: the checkout, the data folder, the cache, then the web."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pooch

FOLDER_VARIABLE = "HTSVM_DATA"
CACHE_VARIABLE = "HTSVM_CACHE"
OFFLINE_VARIABLE = "HTSVM_OFFLINE"
# Files as their home publishes them, where those differ byte by byte from ours.
CANONICAL = "canonical"
# Seconds to wait for a connection, and between two pieces of a file.
PATIENCE = (3.05, 60.0)
# Hosts that could not be reached, so that a second file of theirs fails at once.
_unreachable: dict[str, str] = {}


class DataFileError(OSError):
    """A data file is missing, cannot be downloaded, or is not the file it should be."""


@dataclass(frozen=True)
class DataFile:
    """A file, and what is known about it.

    `path` is its place in the data folder, `url` where its canonical form is published, if it is.
    `canonical` says whether that is this file, byte by byte; otherwise it holds the same rows in
    another form, and a checksum of its rows is known (`dataset.py`). `packed` is place and checksum
    of a smaller file with the same content.
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
class LocalCopy:
    """A local copy of a data file: where it lies, and how it was found, for people.

    Where its own checksum was not known (`checked`), what it holds has to be checked.
    """

    path: Path
    origin: str
    checked: bool = True


@cache
def checksums(table: str = "checksums.txt") -> dict[str, str]:
    """Return the sha256 of every known file by its path, or of the rows of sets by name."""
    text = resources.files("htsvm_paper.datasets").joinpath(table).read_text("utf-8")
    return {name: digest for digest, name in (line.split() for line in text.splitlines() if line)}


def data_file(path: str, url: str | None = None, *, canonical: bool = False) -> DataFile:
    """Return a known file, with its packed form where there is one."""
    known = checksums()
    for packed in (f"{path}.bz2", str(PurePosixPath(path).with_suffix(".npz"))):
        if packed != path and packed in known:
            return DataFile(path, known[path], url, canonical, (packed, known[packed]))
    return DataFile(path, known[path], url, canonical)


def fetch(file: DataFile) -> LocalCopy:
    """Return a checked local copy, downloading it where it has to be, or raise `DataFileError`."""
    for folder, origin in _folders():
        for place, sha256 in file.places():
            path = folder / place
            if path.is_file():
                if sha256 is not None:
                    _check(path, sha256)
                return LocalCopy(path, origin, sha256 is not None)
    return LocalCopy(_download(file), f"downloaded from {file.url}", file.canonical)


def checkout_folder() -> Path | None:
    """Return ``data/`` of the checkout that this module runs from; None where installed."""
    source = Path(__file__).resolve().parents[2]
    folder = source.parents[1] / "data"
    in_checkout = source.name == "src" and (source.parent / "pyproject.toml").is_file()
    return folder if in_checkout and folder.is_dir() else None


def _folders() -> Iterator[tuple[Path, str]]:
    if (checkout := checkout_folder()) is not None:
        yield checkout, "the checkout"
    if named := os.environ.get(FOLDER_VARIABLE):
        folder = Path(named)
        if not folder.is_dir():
            raise DataFileError(f"{FOLDER_VARIABLE}={named} is not a folder.")
        yield folder, FOLDER_VARIABLE
    yield cache_folder(), "the cache"


def cache_folder() -> Path:
    """Return the folder for downloads: $HTSVM_CACHE, or the usual place of the system."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "htsvm"


def _check(path: Path, sha256: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise DataFileError(
            f"{path} is not the expected file: its sha256 is {found}, expected {sha256}. "
            "It was not used; replace it, or move it away to have it downloaded again."
        )


def _download(file: DataFile) -> Path:
    if file.url is None:
        raise DataFileError(_not_here(file, "not published for download", but=""))
    host = urlsplit(file.url).netloc
    if os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0"):
        raise DataFileError(_not_here(file, f"{OFFLINE_VARIABLE} is set"))
    if host in _unreachable:
        raise DataFileError(_not_here(file, _unreachable[host]))
    place, sha256 = list(file.places())[0 if file.canonical else -1]
    target = cache_folder() / place
    try:
        done = pooch.retrieve(
            file.url, known_hash=sha256, fname=target.name, path=target.parent,
            downloader=pooch.HTTPDownloader(progressbar=True, timeout=PATIENCE),
        )  # fmt: skip
    except ValueError as error:  # pooch's word for a wrong checksum
        raise DataFileError(
            f"{file.url} is no longer the expected file and was not used: {error}"
        ) from error
    except OSError as error:  # every error of requests is one
        reason = f"{host} cannot be reached"
        if getattr(error, "response", None) is not None:  # It said no, rather than nothing.
            reason = f"{file.url} cannot be reached ({error})"
        else:
            _unreachable[host] = reason
        raise DataFileError(_not_here(file, reason)) from error
    return Path(done)


def _not_here(file: DataFile, reason: str, but: str = ",") -> str:
    """Say why a file cannot be had, and where to put it."""
    folder = os.environ.get(FOLDER_VARIABLE)
    where = f"in {folder}" if folder else f"in a folder and set {FOLDER_VARIABLE} to it"
    return f"{file.path} is not here{but} and {reason}. Put it at {file.path} {where}."
