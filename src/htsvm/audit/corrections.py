"""Putting the decisions of a review into the table."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.audit import reading
from htsvm.audit.reading import ARROW_ENDINGS, TableError, TableFile, read_source
from htsvm.audit.table import GIVEN, REVIEWED, label_texts, row_keys, table_mark

NEEDED = (
    "row", "id", "given_label", "decision", "new_label", "key", "label_column", "id_column",
    "table",
)  # fmt: skip
WRITTEN = (".csv", ".tsv", ".txt", ".gz", *ARROW_ENDINGS)
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

    A text table keeps every byte that no decision is about; Parquet and Feather keep their types.
    Returns how many labels were changed, kept, and left as unsure.
    """
    source = read_source(table)
    reading.check_target(output, (source.path, corrections_path), force)
    same = source.text is not None and output.suffix == source.path.suffix
    if output.suffix.lower() not in WRITTEN and not same:
        endings = ", ".join(WRITTEN)
        raise TableError(
            f"-o {output}: give an ending of {endings}; other formats are not written."
        )
    decisions = _decisions(corrections_path)
    label, places = _places(source, decisions, corrections_path)
    sure = (decisions["decision"] != "unsure").to_numpy()
    fresh = decisions["new_label"].to_numpy(dtype=object)[sure]
    before = label_texts(source.frame[label])[places[sure]]
    different = before != fresh
    marks = {name: _marks(source.frame, name) for name in (REVIEWED, GIVEN)}
    seen = marks[REVIEWED][places[sure]] != ""
    marks[REVIEWED][places[sure]] = "1"
    # What an earlier review found the label to be stays what it was.
    marks[GIVEN][places[sure]] = np.where(seen, marks[GIVEN][places[sure]], before)
    changes = dict(zip(places[sure][different].tolist(), fresh[different].tolist(), strict=True))
    reading.write_all({output: _content(source, output, label, changes, marks)})
    changed = int(different.sum())
    return {"changed": changed, "kept": int(sure.sum()) - changed, "unsure": int((~sure).sum())}


def _decisions(path: Path) -> Any:
    """Return the decisions of a review, checked."""
    source = read_source(path, NEEDED)
    frame = source.frame
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing or source.text is None:
        why = f"has no column {missing[0]!r}" if missing else "is no CSV"
        text = f"{path} is not a corrections file of this version: it {why}."
        raise TableError(f"{text} Audit the table again and export from the new page.")
    frame = frame[list(NEEDED)].apply(lambda column: column.map(plain_cell))
    for column in ("given_label", "new_label", "decision"):
        frame[column] = frame[column].str.strip()
    twice = frame["key"].duplicated().to_numpy()
    if twice.any():
        raise TableError(f"{path} decides row {frame['row'][twice].iloc[0]} twice.")
    unknown = ~frame["decision"].isin(DECISIONS).to_numpy()
    if unknown.any():
        line = int(np.flatnonzero(unknown)[0])
        text = f"{path}, line {line + 2}: decision {frame['decision'].iloc[line]!r} is not one of"
        raise TableError(f"{text} {', '.join(DECISIONS)}.")
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
        text = f"{path} was made for another table, or {source.name} has changed since."
        raise TableError(f"{text} Audit it again: the page takes over what is still the same.")
    known = {key: place for place, key in enumerate(row_keys(frame, id))}
    places = np.array([known.get(key, -1) for key in decisions["key"]], dtype=int)
    lost = decisions["row"][places < 0].tolist()
    if lost:
        raise TableError(f"{path}: row {lost[0]} is not in {source.name}.")
    given, held = decisions["given_label"].to_numpy(dtype=object), label_texts(frame[label])[places]
    for row in np.flatnonzero(held != given)[:1]:
        text = f"{path}, row {decisions['row'].iloc[row]}: the reviewed label is {given[row]!r},"
        raise TableError(f"{text} but column {label!r} holds {held[row]!r}.")
    return label, places


def _marks(frame: Any, name: str) -> Array:
    if name in frame.columns:
        return label_texts(frame[name])
    return np.full(len(frame), "", dtype=object)


def _content(
    source: TableFile, output: Path, label: str, changes: dict[int, str], marks: dict[str, Array]
) -> bytes | Callable[[Path], Any]:
    """Return the corrected table as bytes, or what writes it into a new file."""
    ending, names = output.suffix.lower(), list(source.frame.columns)
    kind = ARROW_ENDINGS.get(ending)
    if kind is not None:
        pa = reading.pyarrow_for(output)
        if source.arrow is not None:
            table = _changed(pa, source.arrow, label, changes, marks)
        else:
            frame = _frame(source, label, changes, marks)
            try:
                table = pa.Table.from_pandas(frame, preserve_index=False)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                text = f"{output}: {error}. Write CSV, whose columns may hold several types."
                raise TableError(text) from error
        write = pa.parquet.write_table if kind == "parquet" else pa.feather.write_feather
        return lambda path: write(table, path)
    if source.text is not None:
        cells = {(row, names.index(label)): value for row, value in changes.items()}
        added = []
        for name, values in marks.items():
            if name not in names:
                added.append([name, *values.tolist()])
                continue
            fresh = np.flatnonzero(values != _marks(source.frame, name))
            cells |= {(int(row), names.index(name)): values[row] for row in fresh}
        content = source.text.changed(cells, added)
    else:
        frame = _frame(source, label, changes, marks)
        text = frame.to_csv(index=False, sep="\t" if ending == ".tsv" else ",", lineterminator="\n")
        content = text.encode()
    return gzip.compress(content) if ending == ".gz" else content


def _frame(source: TableFile, label: str, changes: dict[int, str], marks: dict[str, Array]) -> Any:
    """Return the corrected table as a data frame; labels that occur keep their type."""
    frame = source.frame.copy()
    labels = frame[label].astype(object).to_numpy(copy=True)
    known = _known(labels.tolist())
    for row, value in changes.items():
        labels[row] = known.get(value, value)
    frame[label] = labels
    return frame.assign(**marks)


def _known(values: list[Any]) -> dict[str, Any]:
    """Return labels by their texts; of those that differ in blanks the one without them."""
    given = {str(value): value for value in values if value is not None}
    return {text.strip(): value for text, value in given.items()} | given


def _changed(
    pa: Any, table: Any, label: str, changes: dict[int, str], marks: dict[str, Array]
) -> Any:
    """Return an Arrow table with other labels; columns keep their types and categories."""
    place = table.column_names.index(label)
    column, field = table.column(place), table.field(place)
    kind, categories = field.type, pa.types.is_dictionary(field.type)
    values = column.to_pylist()
    known = _known(values)
    for row, text in changes.items():
        values[row] = known[text] if text in known else _new_value(pa, text, field)
    if categories:
        every = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
        every = list(dict.fromkeys([*every, *(value for value in values if value is not None)]))
        codes = [None if value is None else every.index(value) for value in values]
        column = pa.DictionaryArray.from_arrays(
            pa.array(codes, type=kind.index_type), pa.array(every, type=kind.value_type),
            ordered=kind.ordered,
        )  # fmt: skip
    else:
        column = pa.array(values, type=kind)
    table = table.set_column(place, field.with_type(column.type), column)
    for name, texts in marks.items():
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, pa.array(texts.tolist(), type=pa.string()))
    return table


def _new_value(pa: Any, text: str, field: Any) -> Any:
    """Return a label that the column does not hold yet, as its type wants it."""
    kind = getattr(field.type, "value_type", field.type)
    try:
        return pa.scalar(text).cast(kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        said = f"column {field.name!r} holds values of the type {kind}; the new label {text!r}"
        raise TableError(f"{said} is none.") from error
