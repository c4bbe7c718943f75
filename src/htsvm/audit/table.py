"""From a CSV or Parquet file to samples that can be audited."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.audit.checks import Finding, numbers_rows

# Categories of a column beyond these count as one: "other".
MOST_CATEGORIES = 50
# A column with no more than this share of values that are no numbers should be one of numbers.
MOST_ODD = 0.05
# The share of different values from which on a column of words names its rows.
DIFFERENT = 0.5
REVIEWED = "htsvm_reviewed"


class TableError(ValueError):
    """A table that cannot be audited; the message says where and why."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table ready for an audit.

    Attributes
    ----------
    frame : DataFrame
        As read.
    label, id : str
        Names of the columns with labels and, if there is one, identifiers.
    X : matrix or mapping of matrices
        Samples as numbers; text and images are views of their own.
    y : ndarray of str
        Labels.
    names : list of str
        What the columns of the tabular part mean, for reasons.
    numbers : ndarray, optional
        The tabular part.
    trusted : ndarray of bool
        Rows marked as reviewed.
    findings : list of Finding
        What was noticed.
    images : list of Path, optional
        The pictures.
    text : str, optional
        The column of texts.
    words : sequence of str
        What the columns of the text's view mean.
    """

    frame: Any
    label: str
    id: str | None
    X: Any
    y: Array
    names: list[str]
    numbers: Array | None
    trusted: Array
    findings: list[Finding]
    images: list[Path] | None = None
    text: str | None = None
    words: Any = ()


def read_frame(path: Path) -> Any:
    """Read CSV or Parquet; CSV cells stay as they are written."""
    import pandas as pd

    if not path.is_file():
        raise TableError(f"{path} does not exist, or is not a file.")
    if path.suffix.lower() in (".parquet", ".pq"):
        try:
            return pd.read_parquet(path)
        except Exception as error:
            raise TableError(f"{path} cannot be read as Parquet: {error}") from error
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = _broken_line(path)
        raise TableError(
            f"{path} is not UTF-8: line {line} holds the byte 0x{error.object[error.start]:02x}. "
            "Convert it, for instance with: iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path} is empty.") from error
    except pd.errors.ParserError as error:
        raise TableError(f"{path} is not a CSV table: {error}") from error
    _check_header(path)
    if len(frame) == 0:
        raise TableError(f"{path} has a header but no rows.")
    return frame


def _check_header(path: Path) -> None:
    """Refuse two columns of one name, which pandas would quietly rename."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file), [])
    for place, name in enumerate(names):
        if name in names[:place]:
            raise TableError(f"{path} has two columns named {name!r}.")


def _broken_line(path: Path) -> int:
    """Return the first line that is not UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0


def read_table(
    path: Path,
    label: str,
    *,
    id: str | None = None,
    text: str | None = None,
    image: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Table:
    """Read a table and turn its columns into numbers.

    Parameters
    ----------
    path : Path
        A CSV or Parquet file.
    label : str
        The column with the labels.
    id : str, optional
        A column that names the rows; it must have no value twice.
    text, image : str, optional
        A column of texts, or of paths of images (relative to the table).
    progress : callable
        Called with a few words before each step.
    """
    progress("reading the table")
    frame = read_frame(path)
    for option, column in (("--label", label), ("--id", id), ("--text", text), ("--image", image)):
        if column is not None and column not in frame.columns:
            known = ", ".join(map(str, frame.columns[:12]))
            raise TableError(f"{option} {column}: there is no such column; there are {known}.")
    _check_ids(frame, id)
    y = _labels_of(frame, label)
    trusted = np.zeros(len(frame), dtype=bool)
    if REVIEWED in frame.columns:
        trusted = frame[REVIEWED].astype(str).str.lower().isin(["1", "true", "yes"]).to_numpy()
    views: dict[str, Any] = {}
    images = None
    words: list[str] = []
    if text is not None:
        progress("words of the text")
        views["text"], words = _text_view(frame[text], text)
    if image is not None:
        images = [path.parent / str(value) for value in frame[image]]
        views |= _image_views(images, image, progress)
    used = [c for c in frame.columns if c not in (label, id, text, image, REVIEWED)]
    numbers, names, findings = tabular(frame[used])
    if numbers is not None and (not views or numbers.shape[1]):
        views["columns"] = numbers
    if not views:
        raise TableError(
            f"{path} has no column to judge the labels by, besides {label!r}. "
            + " ".join(finding.text for finding in findings)
        )
    X = next(iter(views.values())) if len(views) == 1 else views
    return Table(frame, label, id, X, y, names, numbers, trusted, findings, images, text, words)


def _check_ids(frame: Any, id: str | None) -> None:
    if id is None:
        return
    twice = np.flatnonzero(frame[id].duplicated().to_numpy())
    if len(twice):
        value = frame[id].iloc[twice[0]]
        first = int(np.flatnonzero((frame[id] == value).to_numpy())[0])
        raise TableError(
            f"column {id!r}: row {twice[0] + 1} has the id {value!r} of row {first + 1}; ids must "
            "be different. Without --id rows are numbered."
        )


def _labels_of(frame: Any, label: str) -> Array:
    column = frame[label]
    missing = column.isna()
    # Missing cells of Parquet stay missing through astype(str).
    values = column.astype(object).where(~missing, "").astype(str).to_numpy(dtype=object)
    empty = missing.to_numpy() | np.array([not value.strip() for value in values])
    if empty.all():
        raise TableError(f"column {label!r} is empty: there are no labels to audit.")
    if empty.any():
        raise TableError(
            f"column {label!r} has no label in {int(empty.sum())} rows, the first of them row "
            f"{int(np.flatnonzero(empty)[0]) + 1}. Label these rows or leave them out."
        )
    classes = np.unique(values.astype(str))
    if len(classes) == 1:
        raise TableError(f"column {label!r} holds only one class, {str(classes[0])!r}.")
    if len(classes) > 1000 or len(classes) > len(values) / 2:
        raise TableError(
            f"column {label!r} has {len(classes)} different values in {len(values)} rows: that "
            "looks like an identifier or a measurement, not like classes."
        )
    return np.asarray(values.astype(str))


# ---------------------------------------------------------------------------------- columns


def tabular(frame: Any) -> tuple[Array | None, list[str], list[Finding]]:
    """Return columns as numbers of similar spread, their names, and what was left out and why."""
    parts: list[Array] = []
    names: list[str] = []
    findings: list[Finding] = []
    for name in frame.columns:
        kind, values, labels = _column(frame[name])
        if kind == "numbers":
            missing = np.isnan(values)
            if missing.any():
                text = f"{missing.mean():.1%} of the values of {name!r} are missing."
                findings.append(Finding("missing", str(name), text))
                values = np.where(missing, np.nanmedian(values), values)
            if values.min() == values.max():
                text = f"{name!r} has the same value in every row and was left out."
                findings.append(Finding("constant", str(name), text))
            elif numbers_rows(values):
                text = f"{name!r} looks like a number of the row and was left out."
                findings.append(Finding("identifier", str(name), text))
            else:
                parts.append(((values - values.mean()) / values.std())[:, None])
                names.append(str(name))
        elif kind == "categories":
            # A category's columns together count like one number.
            parts.append(values / np.sqrt(max(values.std(axis=0).sum(), 1e-12)))
            names += [f"{name} = {label}" for label in labels]
        else:
            findings.append(Finding(kind, str(name), f"{name!r} {labels[0]} and was left out."))
    if not parts:
        return None, [], findings
    return np.hstack(parts), names, findings


def _column(series: Any) -> tuple[str, Array, list[str]]:
    """Return what a column is: numbers, categories, or something to leave out."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
        return "numbers", series.to_numpy(dtype=float, na_value=np.nan), []
    values = series.astype(object).where(series.notna(), "").astype(str).str.strip()
    blank = values.isin(["", "NA", "NaN", "nan", "?", "null", "None"]).to_numpy()
    read = pd.to_numeric(values.where(~blank, None), errors="coerce").to_numpy(
        dtype=float, copy=True
    )
    if blank.all():
        return "constant", np.empty(0), ["is empty"]
    if not np.isnan(read[~blank]).any():
        read[~np.isfinite(read)] = np.nan
        return "numbers", read, []
    odd = np.flatnonzero(np.isnan(read) & ~blank)
    if len(odd) <= MOST_ODD * (~blank).sum():
        raise TableError(
            f"column {series.name!r} holds numbers but for {len(odd)} of its {len(values)} rows; "
            f"row {odd[0] + 1} has {values.iloc[odd[0]]!r}. Put a number there, or leave the cell "
            "empty."
        )
    known, counts = np.unique(values[~blank], return_counts=True)
    if len(known) > DIFFERENT * (~blank).sum() and len(known) > MOST_CATEGORIES:
        return "identifier", np.empty(0), ["has hardly a value twice (use --text for text)"]
    kept = known[np.argsort(-counts, kind="stable")][:MOST_CATEGORIES]
    columns = np.column_stack([(values == label).to_numpy(dtype=float) for label in kept])
    if len(known) == 1 and not blank.any():
        return "constant", np.empty(0), ["has the same value in every row"]
    return "categories", columns, [str(label) for label in kept]


def _text_view(series: Any, name: str) -> tuple[Any, list[str]]:
    """Return weights of words, and the words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = series.astype(object).where(series.notna(), "").astype(str)
    try:
        least = 2 if len(texts) > 50 else 1
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=least)
        found = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise TableError(f"column {name!r} holds no words that occur twice: {error}") from error
    return sp.csr_matrix(found), list(vectorizer.get_feature_names_out())


def _image_views(
    paths: list[Path], name: str, progress: Callable[[str], None]
) -> dict[str, Array]:  # fmt: skip
    """Return HOG and LBP of all images, brought to one size."""
    try:
        from PIL import Image
    except ImportError as error:
        raise TableError(
            '--image needs pillow and scikit-image: pip install "htsvm[datasets]"'
        ) from error
    from htsvm.datasets import ImageViews

    pixels = np.empty((len(paths), 64, 64), dtype=np.uint8)
    for row, path in enumerate(paths):
        if row % 200 == 0:
            progress(f"image {row + 1} of {len(paths)}")
        try:
            with Image.open(path) as image:
                pixels[row] = np.asarray(image.convert("L").resize((64, 64)))
        except Exception as error:
            raise TableError(
                f"column {name!r}, row {row + 1}: the image {path} cannot be read: {error}"
            ) from error
    views = ImageViews(hog_cell=8, lbp_cell=16).fit(pixels[:1])
    described = []
    for first in range(0, len(paths), 200):
        progress(f"features of image {first + 1} of {len(paths)}")
        described.append(views.transform(pixels[first : first + 200]))
    whole = np.vstack(described)
    hog, lbp = np.split(whole, [views.view_widths_[0]], axis=1)
    return {"hog": hog, "lbp": np.sqrt(lbp)}
