"""Where a data file is found: the data folder, then the cache, then its home on the web."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "HTSVM_DATA"
CACHE_VARIABLE = "HTSVM_CACHE"
# Files as their home publishes them, where those differ byte by byte from ours.
CANONICAL = "canonical"
INSTALL = 'pip install "htsvm[datasets]"'


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
        the same rows in another form, and no checksum of it is known.
    """

    path: str
    sha256: str
    url: str | None = None
    canonical: bool = False

    def places(self) -> Iterator[tuple[str, str | None]]:
        """Yield the relative paths under which the file may lie, with their checksums."""
        yield self.path, self.sha256
        if self.url is not None and not self.canonical:
            yield f"{CANONICAL}/{self.url.rsplit('/', 1)[-1]}", None


def fetch(file: DataFile) -> Path:
    """Return the path of a checked local copy, downloading it where it has to be.

    Parameters
    ----------
    file : DataFile
        What is wanted.

    Raises
    ------
    DataFileError
        If it cannot be had, or if what lies there has another checksum.
    """
    for folder in _folders():
        for place, sha256 in file.places():
            path = folder / place
            if path.is_file():
                if sha256 is not None:
                    _check(path, sha256)
                return path
    return _download(file)


def _folders() -> Iterator[Path]:
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise DataFileError(f"{FOLDER_VARIABLE}={named} is not a folder.")
        yield folder
    yield cache_folder()


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
        raise DataFileError(f"{file.path} is not published for download. {_remedy(file)}")
    try:
        import pooch
    except ImportError as error:
        raise DataFileError(
            f"{file.path} is not here, and downloads need pooch ({INSTALL}). {_remedy(file)}"
        ) from error
    place, sha256 = list(file.places())[-1]
    target = cache_folder() / place
    try:
        done = pooch.retrieve(
            file.url,
            known_hash=sha256,
            fname=target.name,
            path=target.parent,
            progressbar=True,
        )
    except ValueError as error:  # pooch's word for a wrong checksum
        raise DataFileError(
            f"{file.url} is no longer the expected file and was not used: {error}"
        ) from error
    except OSError as error:  # every error of requests is one
        raise DataFileError(
            f"{file.url} cannot be downloaded ({type(error).__name__}). {_remedy(file)}"
        ) from error
    return Path(done)


def _remedy(file: DataFile) -> str:
    folder = os.environ.get(FOLDER_VARIABLE)
    start = f"in the folder {folder}" if folder else f"in a folder, and set {FOLDER_VARIABLE} to it"
    wanted = [f"{file.path} (sha256 {file.sha256})"]
    wanted += [f"{place} (from {file.url})" for place, sha256 in file.places() if sha256 is None]
    return f"Put {' or '.join(wanted)} {start}."
