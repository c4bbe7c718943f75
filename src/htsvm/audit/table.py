"""From a file to samples that can be audited."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit.checks import Finding
from htsvm.audit.columns import Columns, columns_of, has_decimal_commas
from htsvm.audit.inputs import classes_of
from htsvm.audit.reading import TableError, TableFile, read_source

# Columns that a review adds: which rows were reviewed, and the labels that they had before.
REVIEWED, GIVEN = "htsvm_reviewed", "htsvm_given"
# Fewer labels than this tell nothing.
FEWEST_ROWS = 10
# What programs write where there is no label; "-" and "none" may be classes.
NO_LABEL = ("", "na", "n/a", "#n/a", "nan", "<na>", "null", "?")


@dataclass(frozen=True, eq=False)
class Table:
    """A table ready for an audit."""

    source: TableFile
    frame: Any
    places: Array
    label: str
    id: str | None
    X: Any
    y: Array
    columns: Columns
    trusted: Array
    findings: list[Finding]
    keys: list[str]
    mark: str
    images: list[Path] | None = None
    given: Array | None = None


def read_table(
    path: str | Path | TableFile, label: str, *, id: str | None = None, text: Sequence[str] = (),
    image: str | None = None, progress: Callable[[str], None] = lambda text: None,
) -> Table:  # fmt: skip
    """Read a table, if it was not read yet, and turn its columns into numbers."""
    named = [("--label", label), ("--id", id), ("--image", image), *(("--text", c) for c in text)]
    known = tuple(column for _, column in named if column is not None)
    source = path if isinstance(path, TableFile) else read_source(path, known)
    frame = source.frame
    _check_columns(frame, named, label)
    _check_ids(frame, id)
    findings = list(source.findings)
    y, labelled = _labels_of(frame, label, findings)
    keys, mark = row_keys(frame, id), table_mark(frame, label, id)
    places = np.flatnonzero(labelled)
    frame = frame.iloc[places]
    trusted = np.zeros(len(frame), dtype=bool)
    if REVIEWED in frame.columns:
        trusted = frame[REVIEWED].astype(str).str.lower().isin(["1", "true", "yes"]).to_numpy()
    given = label_texts(frame[GIVEN]).astype(str) if GIVEN in frame.columns else None
    progress("columns")
    used = [c for c in frame if c in text or c not in (label, id, image, REVIEWED, GIVEN)]
    other = source.text is not None and source.text.separator != ","
    comma = other and has_decimal_commas(frame[used])
    columns = columns_of(frame[used], labels=y, texts=text, decimal_comma=comma)
    frame = frame.reset_index(drop=True)
    findings += columns.findings
    views, images = columns.views(), None
    if image is not None:
        images = [source.path.parent / str(value) for value in frame[image]]
        views |= _image_views(images, places, image, progress)
    if not views:
        said = " ".join(finding.text for finding in findings)
        raise TableError(f"{source.name} has no column to judge the labels by. {said}")
    X = next(iter(views.values())) if len(views) == 1 else views
    return Table(
        source, frame, places, label, id, X, y, columns, trusted, findings,
        [keys[place] for place in places], mark, images, given,
    )  # fmt: skip


def _check_columns(frame: Any, named: list[tuple[str, str | None]], label: str) -> None:
    for option, column in named:
        if column is not None and column not in frame.columns:
            known = ", ".join(frame.columns[:12])
            hint = " Cells are told apart by , ; | or tabs." if frame.shape[1] == 1 else ""
            text = f"{option} {column}: there is no such column; there are {known}.{hint}"
            raise TableError(text)
        if column in (REVIEWED, GIVEN):
            raise TableError(f"{option} {column}: that column marks reviewed rows; name another.")
        if column == label and option != "--label":
            text = f"{option} {column}: that is the column with the labels; name another."
            raise TableError(text)


def _check_ids(frame: Any, id: str | None) -> None:
    first: dict[str, int] = {}
    for row, value in enumerate([] if id is None else frame[id].map(str)):
        if first.setdefault(value, row) != row:
            text = f"column {id!r}: row {row + 1} has the id {value!r} of row {first[value] + 1};"
            raise TableError(f"{text} ids must be different. Without --id rows are numbered.")


def label_texts(column: Any) -> Array:
    """Return labels as texts without blanks around them; empty where there is none."""
    missing = column.isna()
    values = column.astype(object).where(~missing, "").map(str).str.strip()
    return np.asarray(values.to_numpy(dtype=object))


def _labels_of(frame: Any, label: str, findings: list[Finding]) -> tuple[Array, Array]:
    """Return the labels of the rows that have one, and which these are."""
    values = label_texts(frame[label])
    labelled = np.array([value.lower() not in NO_LABEL for value in values])
    if not labelled.any():
        raise TableError(f"column {label!r} is empty: there are no labels to audit.")
    if not labelled.all():
        count, first = int((~labelled).sum()), int(np.flatnonzero(~labelled)[0]) + 1
        marks = ", ".join(sorted(set(values[~labelled]) - {""}))
        text = f"{count:,} rows have no label{f' ({marks})' if marks else ''} and were left out"
        findings.append(Finding("note", label, f"{text}, the first of them row {first}."))
    raw = frame[label].astype(object).where(labelled, "").map(str).to_numpy(dtype=object)
    padded = int(np.sum(raw[labelled] != values[labelled]))
    if padded:
        text = f"{padded:,} labels have blanks around them, which do not count."
        findings.append(Finding("note", label, text))
    y = values[labelled].astype(str)
    said = "".join(f" {finding.text}" for finding in findings)
    if len(y) < FEWEST_ROWS:
        few = (
            f"{len(y)} rows have a label: too few for an audit, which needs {FEWEST_ROWS} at least."
        )
        raise TableError(few + said)
    try:
        classes_of(y, f"column {label!r}")
    except ValueError as error:
        raise TableError(f"{error}{said}") from error
    return y, labelled


def row_keys(frame: Any, id: str | None) -> list[str]:
    """Return what each row is known by: its id, or a digest of its cells, numbered if equal."""
    if id is not None:
        return [str(value) for value in frame[id].tolist()]
    kept = [column for column in frame.columns if column not in (REVIEWED, GIVEN)]
    seen: dict[str, int] = {}
    keys = []
    for row in _texts(frame[kept]):
        key = digest_of(row)
        seen[key] = seen.get(key, 0) + 1
        keys.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return keys


def table_mark(frame: Any, label: str, id: str | None) -> str:
    """Return a digest of a table: its names and all of its cells, in their order."""
    digest = hashlib.blake2b(digest_size=8)
    for row in ([label, id or ""], list(map(str, frame.columns)), *_texts(frame)):
        digest.update("\x1f".join(row).encode("utf-8", "surrogatepass") + b"\x1e")
    return "t" + digest.hexdigest()


def _texts(frame: Any) -> Any:
    columns = [[str(value) for value in frame[column].tolist()] for column in frame.columns]
    return (list(row) for row in zip(*columns, strict=True))


def digest_of(row: list[str]) -> str:
    """Return a digest of some texts."""
    text = "\x1f".join(row).encode("utf-8", "surrogatepass")
    # The letter keeps spreadsheets from taking it for a number.
    return "r" + hashlib.blake2b(text, digest_size=8).hexdigest()


def _image_views(
    paths: list[Path], places: Array, name: str, progress: Callable[[str], None]
) -> dict[str, Array]:
    """Return HOG and LBP of all images, brought to one size."""
    try:
        import skimage  # noqa: F401
        from PIL import Image
    except ImportError as error:
        text = "--image needs pillow and scikit-image: pip install pillow scikit-image"
        raise TableError(text) from error
    from htsvm.datasets import ImageViews

    pixels = np.empty((len(paths), 64, 64), dtype=np.uint8)
    for row, path in enumerate(paths):
        if row % 200 == 0:
            progress(f"image {row + 1} of {len(paths)}")
        try:
            with Image.open(path) as image:
                pixels[row] = np.asarray(image.convert("L").resize((64, 64)))
        except Exception as error:
            where = f"column {name!r}, row {places[row] + 1}"
            raise TableError(f"{where}: the image {path} cannot be read: {error}") from error
    views = ImageViews(hog_cell=8, lbp_cell=16).fit(pixels[:1])
    progress("features of the images")
    parts = range(0, len(paths), 200)
    whole = np.vstack([views.transform(pixels[first : first + 200]) for first in parts])
    hog, lbp = np.split(whole, [views.view_widths_[0]], axis=1)
    return {"hog": hog, "lbp": np.sqrt(lbp)}
