"""From a file to a table: text as people write it, Parquet, Feather and SQLite."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from htsvm.audit.checks import Finding

SEPARATORS = (",", ";", "\t", "|")
# Records at the beginning that decide on the separator.
LOOKED_AT = 50
NEWLINE = re.compile(r"\r\n|\n|\r")
QUOTED = re.compile(r'"(?:[^"]|"")*"')
# A first line by which some spreadsheets name the separator.
NAMED_SEPARATOR = re.compile(r"sep=(.)(?:\r\n|\n|\r)")
BOMS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
# What a file is by its first bytes, whatever its name says.
MAGIC = (
    (b"PAR1", "parquet"), (b"ARROW1", "feather"), (b"FEA1", "feather"),
    (b"SQLite format 3\0", "sqlite"), (b"\x1f\x8b", "gzip"), (b"\xd0\xcf\x11\xe0", "sheet"),
    (b"BZh9", "packed"), (b"\xfd7zXZ", "packed"), (b"(\xb5/\xfd", "packed"), (b"7z\xbc", "packed"),
    (b"{", "json"), (b"[{", "json"), (b"[\n", "json"), (b"[\r", "json"), (b"\x80\4", "pickle"),
    (b"\x80\5", "pickle"), (b"%PDF", "page"), (b"<!doctype", "page"), (b"<html", "page"),
    (b"\x93NUMPY", "foreign"), (b"\x89HDF", "foreign"), (b"<stata", "foreign"),
    (b"$FL2", "foreign"),
)  # fmt: skip
REFUSED = {
    "sheet": "is a spreadsheet: save the sheet with the labels as 'CSV UTF-8'; audit that file.",
    "packed": "is packed: unpack it and audit the table in it, or pack that by gzip.",
    "page": "is a page, not a table: open it in a spreadsheet, if it can be, and save it as CSV.",
    "json": "is JSON, not a table: write CSV by pandas.read_json(...).to_csv(name, index=False).",
    "foreign": "is of another program (HDF5, NumPy, Stata or SPSS): write it as CSV from there.",
    "pickle": "is a pickle, which may run code when it is read: write it as CSV or Parquet.",
}
ARROW_ENDINGS = {
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
}  # fmt: skip


class TableError(ValueError):
    """A table that cannot be audited; the message says where and why."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table of separated values, as it is written."""

    text: str
    separator: str
    encoding: str = "utf-8"
    bom: bytes = b""
    begin: int = 0

    def records(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Yield place, line and the spans of the cells of each record that is not blank."""
        place, line = self.begin, 2 if self.begin else 1
        while place < len(self.text):
            spans = self._spans(place, line)
            end = spans[-1][1]
            if self.text[place:end].strip():
                yield place, line, spans
            line += 1 + len(NEWLINE.findall(self.text, place, end))
            newline = NEWLINE.match(self.text, end)
            place = end if newline is None else newline.end()

    def _spans(self, place: int, line: int) -> list[tuple[int, int]]:
        """Return where the cells of the record at `place` begin and end."""
        text, spans = self.text, []
        ends = (self.separator, "\r", "\n", "")
        while True:
            quoted = QUOTED.match(text, place) if text.startswith('"', place) else None
            if quoted is None and text.startswith('"', place):
                raise TableError(f"line {line}: a quote is opened and never closed.")
            if quoted is not None and text[quoted.end() : quoted.end() + 1] in ends:
                end = quoted.end()
            else:
                newline = NEWLINE.search(text, place)
                stop = len(text) if newline is None else newline.start()
                end = text.find(self.separator, place, stop)
                end = stop if end < 0 else end
            spans.append((place, end))
            if not text.startswith(self.separator, end):
                return spans
            place = end + 1

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the cells of each record."""
        text, separator = self.text, self.separator
        if '"' not in text:
            lines = NEWLINE.split(text[self.begin :])
            for line, record in enumerate(lines, start=2 if self.begin else 1):
                if record.strip():
                    yield line, record.split(separator)
            return
        for _, line, spans in self.records():
            yield line, [_unquoted(text[low:high]) for low, high in spans]

    def changed(self, cells: Mapping[tuple[int, int], str], added: list[list[str]]) -> bytes:
        """Return the bytes of the table with other values in some cells; all else stays."""
        parts, kept = [self.text[: self.begin]], self.begin
        for row, (_, _, spans) in enumerate(self.records(), start=-1):
            for column, (low, high) in enumerate(spans):
                if (row, column) in cells:
                    parts += [self.text[kept:low], self._quoted(cells[row, column])]
                    kept = high
            for place, values in enumerate(added):
                end = spans[-1][1]
                before = self.text[kept:end] if place == 0 else ""
                parts += [before, self.separator, self._quoted(values[row + 1])]
                kept = end
        text = "".join([*parts, self.text[kept:]])
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            odd = error.object[error.start]
            text = f"the table is written in {self.encoding}, without {odd!r}."
            raise TableError(text) from error

    def _quoted(self, value: str) -> str:
        odd = self.separator in value or any(c in value for c in '"\r\n')
        return '"' + value.replace('"', '""') + '"' if odd else value


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell[:1] == '"' and QUOTED.fullmatch(cell) else cell


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table as it was read."""

    path: Path
    name: str
    frame: Any
    text: TextTable | None = None
    arrow: Any = None
    findings: list[Finding] = field(default_factory=list)


def read_source(name: str | Path, columns: tuple[str, ...] = ()) -> TableFile:
    """Read a table."""
    path, _, inner = str(name).partition("::") if not Path(name).exists() else (str(name), "", "")
    file = Path(path)
    if not file.is_file():
        raise TableError(f"{file} does not exist, or is not a file.")
    content = file.read_bytes()
    kind = _kind(file, content)
    if kind in REFUSED:
        raise TableError(f"{file} {REFUSED[kind]}")
    if inner and kind != "sqlite":
        raise TableError(f"{file} is not an SQLite file, so it holds no table {inner!r}.")
    try:
        if kind == "sqlite":
            found = _from_sqlite(file, inner)
        elif kind in ("parquet", "feather"):
            found = _from_arrow(file, kind)
        else:
            content = gzip.decompress(content) if kind == "gzip" else content
            found = _from_text(file, content, columns)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{file} cannot be unpacked: {error}.") from error
    except (TableError, sqlite3.Error) as error:
        where = "" if str(error).startswith(str(file)) else f"{file}: "
        raise TableError(f"{where}{error}") from error
    names = found.frame.columns
    if names.has_duplicates:
        twice = names[names.duplicated()][0]
        raise TableError(f"{file}: two columns are named {twice!r}; give one another name.")
    if len(found.frame) == 0:
        raise TableError(f"{file}: there is a header but no rows.")
    return found


def _kind(path: Path, content: bytes) -> str:
    """Return what a file is by its content, whatever its name says."""
    for start, kind in MAGIC:
        if content.startswith(start) or content[:9].lower().startswith(start):
            return kind
    if content.startswith(b"PK\x03\x04"):
        return "sheet" if b"xl/" in content or b"spreadsheet" in content else "packed"
    if path.suffix.lower() in ARROW_ENDINGS:
        kind = ARROW_ENDINGS[path.suffix.lower()].capitalize()
        raise TableError(f"{path} cannot be read as {kind}: it does not begin as such.")
    return "text"


def _from_text(path: Path, content: bytes, columns: tuple[str, ...]) -> TableFile:
    import pandas as pd

    findings: list[Finding] = []
    text, encoding, bom = _decoded(path, content, findings)
    named = NAMED_SEPARATOR.match(text)
    begin = 0 if named is None else named.end()
    if not text[begin:].strip():
        raise TableError(f"{path} is empty.")
    separator = _separator(text, columns) if named is None else named[1]
    table = TextTable(text, separator, encoding, bom, begin)
    rows = table.rows()
    _, header = next(rows)
    # Columns without a name, such as the index of a data frame, are named by their places.
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(header, start=1)]
    cells, quoted = [], '"' in text
    for line, row in rows:
        if len(row) != len(names):
            raise TableError(_odd_length(line, row, names, separator))
        for cell in row if quoted and NEWLINE.search("".join(row)) else ():
            size = 1 + (cell.count("\n") or cell.count("\r"))
            if size > 1 and cell.count(separator) >= (size - 1) * (len(names) - 1):
                said = f"Line {line} has a cell of {size} lines like rows: is a quote missing?"
                findings.append(Finding("note", path.name, said))
        cells.append(row)
    frame = pd.DataFrame(cells, columns=names, dtype=object)
    return TableFile(path, path.name, frame, table, findings=findings)


def _odd_length(line: int, row: list[str], names: list[str], separator: str) -> str:
    header = f"the header has {len(names)} ({', '.join(names[:6])})"
    what = f"line {line} has {len(row)} cells, but {header}."
    if len(row) == len(names) + 1 and not row[-1].strip():
        return f"{what} It ends with one {separator!r} too many: take it away, in all lines."
    if len(names) == 1:
        return f"{what} The first line must name the columns: take away what stands above them."
    return f"{what} A cell with {separator!r} or a line break in it needs quotes, no blanks before."


def _decoded(path: Path, content: bytes, findings: list[Finding]) -> tuple[str, str, bytes]:
    """Return the text, its encoding and its byte order mark."""
    known = [(bom, encoding) for bom, encoding in BOMS if content.startswith(bom)]
    if not known and b"\0" in content:
        halves = (("utf-16-le", content[1::2]), ("utf-16-be", content[::2]))
        known = [(b"", name) for name, zeros in halves if zeros.count(0) > 0.5 * len(zeros)]
        if not known:
            raise TableError(f"{path} holds zero bytes: it is not a table of text.")
    for bom, encoding in known:
        try:
            return content[len(bom) :].decode(encoding), encoding, bom
        except UnicodeDecodeError as error:
            raise TableError(f"{path} begins as {encoding} but is not: {error}.") from error
    try:
        return content.decode("utf-8"), "utf-8", b""
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].count(b"\n")
        odd = content[error.start]
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        said = f"{path} is neither UTF-8 nor Windows-1252: line {line} holds the byte 0x{odd:02x}."
        raise TableError(f"{said} Save it as UTF-8.") from None
    said = f"Line {line} is not UTF-8: the table was read as Windows-1252."
    findings.append(Finding("note", path.name, said))
    return text, "cp1252", b""


def _separator(text: str, columns: tuple[str, ...]) -> str:
    """Return what separates the cells: what the header and the first records agree on."""
    merits = {}
    for candidate in SEPARATORS:
        try:
            rows = [row for _, row in islice(TextTable(text, candidate).rows(), LOOKED_AT)]
        except TableError:
            continue
        known = sum(cell.strip() in columns for cell in rows[0])
        agreeing = sum(len(row) == len(rows[0]) for row in rows)
        merits[candidate] = (known, len(rows[0]) > 1 and agreeing == len(rows), len(rows[0]))
    return max(merits, key=lambda one: merits[one], default=SEPARATORS[0])


def _from_arrow(path: Path, kind: str) -> TableFile:
    pa = pyarrow_for(path)
    try:
        parquet = kind == "parquet"
        arrow = pa.parquet.ParquetFile(path).read() if parquet else pa.feather.read_table(path)
        # Whole numbers stay whole where some are missing, and an index with a name is a column.
        frame = arrow.to_pandas(integer_object_nulls=True, ignore_metadata=True)
    except Exception as error:
        raise TableError(f"{path} cannot be read as {kind.capitalize()}: {error}") from error
    frame = frame.loc[:, [not re.match(r"__index_level_\d+__$", name) for name in frame.columns]]
    return TableFile(path, path.name, frame, arrow=arrow)


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow with what reads and writes Parquet and Feather."""
    try:
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError as error:
        raise TableError(f"{path} needs pyarrow: pip install pyarrow. Or use CSV.") from error
    return pyarrow


def _from_sqlite(path: Path, table: str) -> TableFile:
    import pandas as pd

    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        names = [name for (name,) in base.execute(query)]
        if table not in names:
            known = ", ".join(names) or "none"
            raise TableError(f"name a table of {path}: {path.name}::TABLE. There are: {known}.")
        quoted = table.replace('"', '""')
        cursor = base.execute(f'SELECT * FROM "{quoted}"')
        columns = [column for column, *_ in cursor.description]
        frame = pd.DataFrame(cursor.fetchall(), columns=columns, dtype=object)
    return TableFile(path, f"{path.name}::{table}", frame)


def check_target(target: Path, sources: Iterable[Path], force: bool) -> None:
    """Refuse to write where something would be lost, or where nothing can be written."""
    folder = target.resolve().parent
    for source in sources:
        same = target.resolve() == source.resolve()
        if same or (target.exists() and source.exists() and target.samefile(source)):
            raise TableError(f"{target} is read here and never written to; give another with -o.")
    if target.is_dir():
        raise TableError(f"{target} is a folder; give the name of a file with -o.")
    if target.exists() and not force:
        raise TableError(f"{target} exists already; --force replaces it.")
    if not folder.is_dir():
        raise TableError(f"the folder {folder} does not exist; make it, or give another with -o.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"the folder {folder} may not be written to; give another with -o.")


def write_all(contents: Mapping[Path, bytes | Callable[[Path], Any]]) -> None:
    """Write files, all of them or none; what they hold is bytes, or a function that writes it."""
    drafts = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in contents}
    try:
        for path, content in contents.items():
            if isinstance(content, bytes):
                drafts[path].write_bytes(content)
            else:
                content(drafts[path])
        for path, draft in drafts.items():
            draft.replace(path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
