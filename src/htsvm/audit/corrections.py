"""Putting the decisions of a review into the table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from htsvm.audit.page import fingerprint
from htsvm.audit.table import REVIEWED, Table, TableError, read_frame

NEEDED = ("row", "id", "given_label", "decision", "new_label")
DECISIONS = ("keep", "accept", "other", "unsure")


def apply_corrections(table_path: Path, corrections_path: Path, output: Path, force: bool) -> Any:
    """Write the table with the decisions of a review, and mark the rows that were reviewed.

    `output` is CSV or Parquet by its ending. Returns how many labels were changed, kept, and left
    as unsure.
    """
    if output.exists() and not force:
        raise TableError(f"{output} exists already; --force replaces it.")
    frame = read_frame(table_path)
    decisions = read_frame(corrections_path)
    missing = [name for name in NEEDED if name not in decisions.columns]
    if missing:
        raise TableError(
            f"{corrections_path} is not a corrections file: it has no column {missing[0]!r}."
        )
    label = _label_column(frame, decisions, corrections_path)
    _check_rows(decisions, corrections_path)
    places = decisions["row"].astype(int).to_numpy() - 1
    sure = (decisions["decision"] != "unsure").to_numpy()
    column = frame[label].astype(object).to_numpy(copy=True)
    before = column.astype(str)
    fresh = decisions["new_label"].to_numpy(dtype=object)
    column[places[sure]] = _as_in(frame[label], fresh[sure])
    frame[label] = column
    reviewed = _marks(frame)
    reviewed[places[sure]] = "1"
    frame[REVIEWED] = reviewed
    write_frame(frame, output)
    changed = int(np.sum(column.astype(str) != before))
    return {"changed": changed, "kept": int(sure.sum()) - changed, "unsure": int((~sure).sum())}


def write_frame(frame: Any, output: Path) -> None:
    """Write a table as a whole or not at all, as CSV or Parquet by the ending of `output`."""
    if not output.resolve().parent.is_dir():
        raise TableError(f"the folder {output.resolve().parent} does not exist.")
    draft = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        if output.suffix.lower() in (".parquet", ".pq"):
            frame.to_parquet(draft, index=False)
        else:
            frame.to_csv(draft, index=False, encoding="utf-8")
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


def _label_column(frame: Any, decisions: Any, path: Path) -> str:
    """Return the column whose labels, in the reviewed rows, are those that were reviewed."""
    try:
        rows = decisions["row"].astype(int).to_numpy() - 1
    except ValueError as error:
        raise TableError(f"{path}: the column 'row' must hold whole numbers ({error}).") from error
    if len(rows) == 0:
        raise TableError(f"{path} holds no decisions.")
    if rows.min() < 0 or rows.max() >= len(frame):
        worst = int(rows.max() if rows.max() >= len(frame) else rows.min()) + 1
        raise TableError(
            f"{path} speaks of row {worst}, but the table has {len(frame)} rows: it is of another "
            "table."
        )
    given = decisions["given_label"].astype(str).to_numpy()
    marks = set(decisions["table"]) if "table" in decisions.columns else set()
    fitting = [
        name for name in frame.columns
        if np.array_equal(frame[name].astype(str).to_numpy()[rows], given)
    ]  # fmt: skip
    for name in fitting:
        ids = [None, *(other for other in frame.columns if other != name)]
        if not marks or any(_mark(frame, name, id) in marks for id in ids):
            return str(name)
    if fitting:
        raise TableError(
            f"{path} was made for another table (or this one has changed since): labels and ids do "
            "not add up to the stored fingerprint. Audit it again."
        )
    for name in frame.columns:
        odd = np.flatnonzero(frame[name].astype(str).to_numpy()[rows] != given)
        if 0 < len(odd) < len(rows):
            first = int(odd[0])
            raise TableError(
                f"{path}, row {int(rows[first]) + 1}: the reviewed label is {given[first]!r}, but "
                f"column {name!r} holds {frame[name].iloc[rows[first]]!r}. It is of another table."
            )
    raise TableError(f"{path} is of another table: no column holds the labels it speaks of.")


def _mark(frame: Any, label: str, id: str | None) -> str:
    return fingerprint(
        Table(frame, label, id, None, np.empty(0), [], None, np.empty(0, dtype=bool), [])
    )


def _check_rows(decisions: Any, path: Path) -> None:
    twice = decisions["row"].duplicated().to_numpy()
    if twice.any():
        raise TableError(f"{path} decides row {decisions['row'][twice].iloc[0]} twice.")
    unknown = ~decisions["decision"].isin(DECISIONS).to_numpy()
    if unknown.any():
        line = int(np.flatnonzero(unknown)[0])
        raise TableError(
            f"{path}, line {line + 2}: decision {decisions['decision'].iloc[line]!r} is not one of "
            f"{', '.join(DECISIONS)}."
        )
    empty = (decisions["decision"] != "unsure") & (decisions["new_label"].astype(str) == "")
    if empty.any():
        row = decisions["row"][empty.to_numpy()].iloc[0]
        raise TableError(f"{path}: row {row} has no new_label.")


def _as_in(column: Any, values: Any) -> Any:
    """Return new labels in the type of the column."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        known = {str(value): value for value in column.unique()}
        for value in {str(value) for value in values} - set(known):
            known[value] = _number(value, column)
        return [known[str(value)] for value in values]
    return list(values)


def _number(value: str, column: Any) -> Any:
    try:
        return column.dtype.type(value)
    except (ValueError, OverflowError) as error:
        raise TableError(
            f"column {column.name!r} holds numbers of the type {column.dtype}; the new label "
            f"{value!r} is none."
        ) from error


def _marks(frame: Any) -> Any:
    if REVIEWED in frame.columns:
        return frame[REVIEWED].astype(str).to_numpy(dtype=object, copy=True)
    return np.full(len(frame), "", dtype=object)
