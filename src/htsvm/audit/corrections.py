"""Putting the decisions of a review into the table."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit.reading import ARROW_ENDINGS, TableError, TableFile, is_same_file, read_source
from htsvm.audit.table import REVIEWED, label_texts, row_keys, table_mark

NEEDED = (
    "row", "id", "given_label", "decision", "new_label", "key", "label_column", "id_column",
    "table",
)  # fmt: skip
DECISIONS = ("keep", "accept", "other", "unsure")
# A spreadsheet takes a cell that begins like this for a formula, unless it is a number.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?")


def safe_cell(value: str) -> str:
    """Return a text that no spreadsheet takes for a formula; `plain_cell` undoes it."""
    risky = FORMULA.match(value) is not None and NUMBER.fullmatch(value) is None
    return f"'{value}" if risky else value


def plain_cell(value: str) -> str:
    """Return the text that `safe_cell` was given."""
    return value[1:] if value.startswith("'") and safe_cell(value[1:]) == value else value


def apply_corrections(
    table: str | Path, corrections_path: Path, output: Path, force: bool
) -> dict[str, int]:
    """Write the table with the decisions of a review, and mark the rows that were reviewed.

    A text table keeps its encoding, its line ends and every cell that no decision is about; Parquet
    and Feather keep the types of their columns. `output` is CSV, Parquet or Feather by its ending.
    Returns how many labels were changed, kept, and left as unsure.
    """
    source = read_source(table)
    for given in (source.path, corrections_path):
        if is_same_file(output, given):
            raise TableError(f"{output} is read here and never written to; give another --output.")
    if output.exists() and not force:
        raise TableError(f"{output} exists already; --force replaces it.")
    if not output.resolve().parent.is_dir():
        raise TableError(f"the folder {output.resolve().parent} does not exist.")
    decisions = _decisions(corrections_path)
    label, places = _places(source, decisions, corrections_path)
    sure = (decisions["decision"] != "unsure").to_numpy()
    fresh = decisions["new_label"].to_numpy(dtype=object)[sure]
    before = label_texts(source.frame[label])[places[sure]]
    different = before != fresh
    reviewed = _marks(source.frame)
    reviewed[places[sure]] = "1"
    changes = dict(zip(places[sure][different].tolist(), fresh[different].tolist(), strict=True))
    _write(output, _writer(source, output, label, changes, reviewed))
    changed = int(different.sum())
    return {"changed": changed, "kept": int(sure.sum()) - changed, "unsure": int((~sure).sum())}


# --------------------------------------------------------------------------------- decisions


def _decisions(path: Path) -> Any:
    """Return the decisions of a review, checked."""
    frame = read_source(path, NEEDED).frame
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise TableError(
            f"{path} is not a corrections file of this version: it has no column {missing[0]!r}. "
            "Audit the table again and export from the new page."
        )
    frame = frame[list(NEEDED)].apply(lambda column: column.map(plain_cell))
    for column in ("given_label", "new_label", "decision"):
        frame[column] = frame[column].str.strip()
    twice = frame["key"].duplicated().to_numpy()
    if twice.any():
        raise TableError(f"{path} decides row {frame['row'][twice].iloc[0]} twice.")
    unknown = ~frame["decision"].isin(DECISIONS).to_numpy()
    if unknown.any():
        line = int(np.flatnonzero(unknown)[0])
        raise TableError(
            f"{path}, line {line + 2}: decision {frame['decision'].iloc[line]!r} is not one of "
            f"{', '.join(DECISIONS)}."
        )
    empty = ((frame["decision"] != "unsure") & (frame["new_label"] == "")).to_numpy()
    if empty.any():
        raise TableError(f"{path}: row {frame['row'][empty].iloc[0]} has no new_label.")
    return frame


def _places(source: TableFile, decisions: Any, path: Path) -> tuple[str, Array]:
    """Return the column of the labels, and the places of the rows that were reviewed."""
    frame = source.frame
    label, id = str(decisions["label_column"].iloc[0]), str(decisions["id_column"].iloc[0]) or None
    for column in (label, id):
        if column is not None and column not in frame.columns:
            raise TableError(f"{path} is of another table: {source.name} has no column {column!r}.")
    marks = set(decisions["table"])
    if marks != {table_mark(frame, label, id)}:
        raise TableError(
            f"{path} was made for another table, or {source.name} has changed since. Audit it "
            "again: the page offers to take over decisions about rows that are still the same."
        )
    known = {key: place for place, key in enumerate(row_keys(frame, label, id))}
    lost = [
        row for row, key in zip(decisions["row"], decisions["key"], strict=True) if key not in known
    ]
    if lost:
        raise TableError(f"{path}: row {lost[0]} is not in {source.name}.")
    places = np.array([known[key] for key in decisions["key"]], dtype=int)
    given = decisions["given_label"].to_numpy(dtype=object)
    odd = np.flatnonzero(label_texts(frame[label])[places] != given)
    if len(odd):
        raise TableError(
            f"{path}, row {decisions['row'].iloc[odd[0]]}: the reviewed label is "
            f"{given[odd[0]]!r}, but column {label!r} holds {frame[label].iloc[places[odd[0]]]!r}."
        )
    return label, places


def _marks(frame: Any) -> Array:
    if REVIEWED in frame.columns:
        column = frame[REVIEWED]
        return np.asarray(column.astype(object).where(column.notna(), "").astype(str), dtype=object)
    return np.full(len(frame), "", dtype=object)


# ----------------------------------------------------------------------------------- writing


def _writer(
    source: TableFile, output: Path, label: str, changes: dict[int, str], reviewed: Array
) -> Callable[[Path], None]:
    """Return what writes the corrected table into a new file."""
    kind = ARROW_ENDINGS.get(output.suffix.lower())
    if source.arrow is not None and kind is not None:
        return _arrow_writer(source, kind, label, changes, reviewed)
    names = list(source.frame.columns)
    if source.text is not None and kind is None:
        cells = {(row, names.index(label)): value for row, value in changes.items()}
        added = None
        if REVIEWED in names:
            before = _marks(source.frame)
            place = names.index(REVIEWED)
            cells |= {(int(r), place): "1" for r in np.flatnonzero(reviewed != before)}
        else:
            added = [REVIEWED, *reviewed.tolist()]
        content = source.text.changed(cells, added)
        if output.suffix.lower() == ".gz":
            content = gzip.compress(content)
        return lambda path: _put(path, content)
    frame = source.frame.copy()
    labels = frame[label].astype(object).to_numpy(copy=True)
    for row, value in changes.items():
        labels[row] = value
    frame[label], frame[REVIEWED] = labels, reviewed
    if kind is not None:
        frame = frame.astype({label: str, REVIEWED: str})
        return (
            (lambda path: frame.to_parquet(path, index=False))
            if kind == "parquet"
            else frame.to_feather
        )
    return lambda path: frame.to_csv(path, index=False, encoding="utf-8")


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _arrow_writer(
    source: TableFile, kind: str, label: str, changes: dict[int, str], reviewed: Array
) -> Callable[[Path], None]:
    """Return what writes columns with the types that they had."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = source.arrow
    place = table.column_names.index(label)
    values = table.column(place).to_pylist()
    known = {str(value).strip(): value for value in values if value is not None}
    for row, text in changes.items():
        values[row] = known[text] if text in known else _new_value(text, table.field(place))
    column = pa.array(values, type=_plain_type(table.field(place).type))
    if pa.types.is_dictionary(table.field(place).type):
        column = column.dictionary_encode()
    table = table.set_column(place, table.field(place).with_type(column.type), column)
    if REVIEWED in table.column_names:
        table = table.drop_columns([REVIEWED])
    table = table.append_column(REVIEWED, pa.array(reviewed.tolist(), type=pa.string()))
    write = parquet.write_table if kind == "parquet" else feather.write_feather
    return lambda path: write(table, path)


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _new_value(text: str, field: Any) -> Any:
    """Return a label that the column does not hold yet, as its type wants it."""
    import pyarrow as pa

    kind = _plain_type(field.type)
    try:
        return pa.scalar(text).cast(kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"column {field.name!r} holds values of the type {kind}; the new label {text!r} is "
            "none."
        ) from error


def _write(output: Path, write: Callable[[Path], None]) -> None:
    """Write a file as a whole or not at all."""
    draft = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        write(draft)
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)
