"""Data files by path, with their checksums."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from htsvm_paper.datasets._files import DataFile


@cache
def checksums() -> dict[str, str]:
    """Return the sha256 of every known file by its path in the data folder."""
    text = resources.files("htsvm_paper.datasets").joinpath("checksums.txt").read_text("utf-8")
    return {path: digest for digest, path in (line.split() for line in text.splitlines())}


def data_file(path: str, url: str | None = None, *, canonical: bool = False) -> DataFile:
    """Return a known file, with its packed form where there is one."""
    known = checksums()
    for packed in (f"{path}.bz2", str(PurePosixPath(path).with_suffix(".npz"))):
        if packed != path and packed in known:
            return DataFile(path, known[path], url, canonical, (packed, known[packed]))
    return DataFile(path, known[path], url, canonical)
