"""Columns as numbers: plain ones, money and shares, dates, categories and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array
from htsvm.audit.checks import Finding, gathered, numbers_rows, told_by
from htsvm.audit.reading import TableError

# Categories of a column beyond these count as one: "other".
MOST_CATEGORIES = 50
# A column with no more than this share of values that are no numbers should be one of numbers.
MOST_ODD = 0.05
# This many different words among numbers may stand for missing values.
MOST_MARKS = 2
# The share of different values from which on a column of words is no category.
DIFFERENT = 0.5
# From this many words in the mean on, values that differ are texts.
WORDS = 3.0
# What people write where there is no value.
BLANKS = (
    "", "na", "n/a", "#n/a", "nan", "<na>", "nat", "null", "none", "nil", "?", "-", "--", ".",
    "missing", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "0000-00-00",
    "0000-00-00 00:00:00",
)  # fmt: skip
# Larger numbers stand for missing ones, as infinite ones do; their squares have no place.
HUGE = 1e100
AROUND = r"(?:USD|EUR|GBP|CHF|kr|[A-Z]{0,3}[$€£¥₹])"
THIN = r"(?<=\d)[\s'\N{RIGHT SINGLE QUOTATION MARK}](?=\d{3}(?:\D|$))"
# Also 1,23,456, as in India.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?")
DOTTED = re.compile(r"[+-]?(?:\d{1,3}|[1-9]\d{0,2}(?:\.\d{3})+)")
CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?"
TIME = re.compile(CLOCK, re.IGNORECASE)
DATE = re.compile(
    rf"(\d{{1,4}})[-/.](\d{{1,2}})[-/.](\d{{1,4}})(?:[ T]{CLOCK})?"
    r" ?(?:Z|UTC|([+-]\d{2}):?(\d{2})?)?",
    re.IGNORECASE,
)
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
NAMED_MONTH = re.compile(
    rf"(?:\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}|{MONTH} \d{{1,2}},? \d{{4}})(?: {CLOCK})?",
    re.IGNORECASE,
)


class Feature(NamedTuple):
    """What a column of the matrix means: a column of the table, or one of its categories."""

    column: str
    category: str | None = None

    def __str__(self) -> str:
        return self.column if self.category is None else f"{self.column} = {self.category}"


@dataclass(eq=False)
class Columns:
    """Columns of a table as numbers."""

    numbers: Array | None = None
    features: list[Feature] = field(default_factory=list)
    text: Any = None
    words: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    plain: dict[str, Array] = field(default_factory=dict)
    repeated: list[Any] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def views(self) -> dict[str, Any]:
        """Return what there is, as views by name."""
        found = {"text": self.text, "columns": self.numbers}
        return {name: view for name, view in found.items() if view is not None}


def columns_of(
    frame: Any, labels: Array | None = None, texts: Sequence[str] = (), decimal_comma: bool = False
) -> Columns:
    """Turn the columns of a data frame into numbers."""
    columns = Columns()
    parts: list[Array] = []
    for name in frame.columns:
        if labels is not None:
            said, copied = told_by(str(name), frame[name].map(str).to_numpy(dtype=object), labels)
            columns.findings += said
            if copied:
                columns.repeated.append(name)
                continue
        kind, values, more = "text", np.empty(0), [""]
        if name not in texts:
            kind, values, more = _read(frame[name], decimal_comma)
        if kind in ("numbers", "dates"):
            kind, values, more = _filled(columns, str(name), kind, values, more)
        if kind == "text":
            columns.texts.append(name)
        elif kind == "categories":
            # A category's columns together count like one number.
            parts.append(values / np.sqrt(max(values.std(axis=0).sum(), 1e-12)))
            columns.features += [Feature(str(name), label) for label in more]
        elif kind in ("constant", "identifier"):
            text = f"{name!r} {more[0]} and was left out."
            columns.findings.append(Finding(kind, str(name), text))
        else:
            columns.plain[str(name)] = values
            scaled = values / np.abs(values).max()
            parts.append(((scaled - scaled.mean()) / scaled.std())[:, None])
            columns.features.append(Feature(str(name)))
    if parts:
        columns.numbers = np.hstack(parts)
    _add_words(columns, frame, texts)
    columns.findings = gathered(columns.findings)
    return columns


def _filled(
    columns: Columns, name: str, kind: str, values: Array, more: list[str]
) -> tuple[str, Array, list[str]]:
    """Return numbers without gaps and say what they were, or that they say nothing."""
    how, *marks = more
    missing = np.isnan(values) | (np.abs(values) > HUGE)
    if missing.all():
        return "constant", values, ["is empty"]
    if np.any(np.abs(values) > HUGE):
        marks.append("infinite or too large")
    if missing.any():
        text = f"{missing.mean():.1%} of the values of {name!r} are missing"
        text += f" ({', '.join(marks)})." if marks else "."
        columns.findings.append(Finding("missing", name, text))
        values = np.where(missing, np.median(values[~missing]), values)
    if how:
        columns.findings.append(Finding("note", name, f"{name!r} was read as {how}."))
    if values.min() == values.max():
        return "constant", values, ["has the same value in every row"]
    if kind == "numbers" and numbers_rows(values):
        return "identifier", values, ["looks like a number of the row"]
    return kind, values, more


def has_decimal_commas(frame: Any) -> bool:
    """Return whether a cell of a table of strings can only be a number with a decimal comma."""
    cells = (cell.strip() for cell in frame.to_numpy().ravel() if "," in cell)
    return any(DECIMAL_COMMA.fullmatch(cell) and not THOUSANDS.fullmatch(cell) for cell in cells)


def _read(series: Any, decimal_comma: bool) -> tuple[str, Array, list[str]]:
    """Return what a column is, its values, and what is to be said of it."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "mM":
        return "dates", _in_days(series), [""]
    if kind in "biuf":
        return "numbers", series.to_numpy(dtype=float, na_value=np.nan), [""]
    values = series.astype(object).where(series.notna(), "")
    if values.map(type).isin([list, tuple, dict, set, np.ndarray]).any():
        return "constant", np.empty(0), ["holds lists"]
    values = values.map(str).str.strip()
    blank = values.str.lower().isin(BLANKS).to_numpy()
    if blank.all():
        return "constant", np.empty(0), ["is empty"]
    marks = sorted(set(values[blank]) - {""})
    kind, read, how = _as_numbers(values, blank, decimal_comma)
    odd = np.flatnonzero(np.isnan(read) & ~blank)
    # Where numbers differ from row to row, the same few words among them stand for no value.
    words = sorted(set(values.iloc[odd]))
    if len(words) <= MOST_MARKS < len(odd) and values.nunique() > DIFFERENT * len(values):
        odd, marks = odd[:0], [*words, *marks]
    if not len(odd):
        return kind, read, [how, *marks[:4]]
    if len(odd) <= MOST_ODD * (~blank).sum():
        row, value = series.index[odd[0]] + 1, values.iloc[odd[0]]
        text = f"column {series.name!r} holds {kind} but for {len(odd)} of its {len(values)} rows;"
        raise TableError(f"{text} row {row} has {value!r}. Mend it, or leave the cell empty.")
    return _words(values, blank)


def _in_days(series: Any) -> Array:
    """Return dates (in UTC) or spans of time as days."""
    unit = "datetime64[us]" if series.dtype.kind == "M" else "timedelta64[us]"
    moments = series.to_numpy(dtype=unit, na_value=np.array("NaT", unit)[()])
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 86400e6)


def _as_numbers(values: Any, blank: Array, decimal_comma: bool) -> tuple[str, Array, str]:
    """Return "numbers" or "dates" with the values, NaN for others, and how they were read."""
    read = _parsed(values, blank)
    plain = not np.isnan(read[~blank]).any()
    if plain and not (decimal_comma and values.str.contains(r"\.\d").any()):
        return "numbers", read, ""
    dotted = bool(values[~blank].str.fullmatch(DOTTED).all())
    dotted &= decimal_comma or bool(values.str.contains(r"\.\d+\.").any())
    if plain and not dotted:
        return "numbers", read, ""
    signs = values.str.replace("\N{MINUS SIGN}", "-")
    bare = signs.str.replace(r"^\(([^()]*\d)\)$", r"-\1", regex=True)
    bare = bare.str.replace(rf"^([+-]?)\s*{AROUND}\s*([+-]?)", r"\1\2", regex=True)
    bare = bare.str.replace(rf"\s*(?:{AROUND}|%)$", "", regex=True)
    bare = bare.str.replace(THIN, "", regex=True)
    given = bare[~blank]
    commas = given[given.str.contains(",", regex=False)]
    thousands = bool(commas.str.fullmatch(THOUSANDS).all())
    decimals = bool(commas.str.fullmatch(DECIMAL_COMMA).all())
    if dotted or (decimals and (decimal_comma or not thousands)):
        bare = bare.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    elif thousands:
        bare = bare.str.replace(",", "", regex=False)
    cleaned = _parsed(bare, blank)
    found = [("numbers", read, ""), ("numbers", cleaned, "numbers")]
    whole = np.full(len(values), np.nan)
    whole[~blank], how = _dates(values[~blank])
    found.append(("dates", whole, how))
    kind, read, how = min(found[::-1], key=lambda one: np.count_nonzero(np.isnan(one[1])))
    changed = np.flatnonzero((bare != values).to_numpy() & ~blank & ~np.isnan(cleaned))
    if how == "numbers" and len(changed):
        row = int(changed[0])
        how = f"numbers: {values.iloc[row]!r} is {cleaned[row]:.10g}"
        units = set(values[~blank].str.extract(rf"({AROUND}|%)")[0].fillna("none"))
        if len(units - {"none"}) > 1 or units == {"%", "none"}:
            how += f", whatever its unit ({', '.join(sorted(units))})"
    return kind, read, how


def _parsed(values: Any, blank: Array) -> Array:
    import pandas as pd

    return np.array(pd.to_numeric(values.where(~blank, None), errors="coerce"), dtype=float)


def _dates(values: Any) -> tuple[Array, str]:
    """Return dates in days, or times in minutes, NaN for others, and which they are."""
    import pandas as pd

    if values.str.fullmatch(TIME).all():
        return _minutes(values.str.extract(TIME)), "times of day"
    if values.str.fullmatch(NAMED_MONTH).all():
        return _in_days(pd.to_datetime(values, format="mixed", errors="coerce")), "dates"
    values = values.str.replace(r"^(\d{4}[-/]\d{2})$", r"\1-01", regex=True)
    days, known = np.full(len(values), np.nan), values.str.fullmatch(DATE).to_numpy(dtype=bool)
    if not known.any():
        return days, ""
    parts = values[known].str.extract(DATE)
    first, second, third = parts.iloc[:, :3].astype(int).to_numpy().T
    if (parts[0].str.len() == 4).all():
        year, month, day, order = first, second, third, "year, month, day"
    elif (second > 12).any() or ((first <= 12).all() and values.str.contains("/").all()):
        year, month, day, order = third, first, second, "month, day, year"
    else:
        year, month, day, order = third, second, first, "day, month, year"
    year = np.where(year < 100, year + np.where(year < 70, 2000, 1900), year)
    start = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    length = ((start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")).astype(int)
    found = start.astype("datetime64[D]").astype(float) + day - 1
    # Times in a zone are brought to UTC.
    zone = parts.iloc[:, 7:].astype(float).fillna(0.0).to_numpy()
    away = 60.0 * zone[:, 0] + np.copysign(zone[:, 1], zone[:, 0])
    found += (_minutes(parts.iloc[:, 3:7]) - away) / 1440.0
    real = (month >= 1) & (month <= 12) & (day >= 1) & (day <= length)
    days[known] = np.where(real, found, np.nan)
    return days, f"dates: {order}"


def _minutes(parts: Any) -> Array:
    """Return times of day in minutes from hours, minutes, seconds and the half of the day."""
    hour, minute, second = parts.iloc[:, :3].astype(float).fillna(0.0).to_numpy().T
    half = parts.iloc[:, 3].str.lower()
    hour = np.where(half.isna(), hour, hour % 12.0 + 12.0 * (half == "p"))
    return np.asarray(60.0 * hour + minute + second / 60.0)


def _words(values: Any, blank: Array) -> tuple[str, Array, list[str]]:
    """Return what a column of words is."""
    given = values[~blank]
    known, counts = np.unique(given.to_numpy(dtype=str), return_counts=True)
    if len(known) == 1 and not blank.any():
        return "constant", np.empty(0), ["has the same value in every row"]
    words = float(given.str.count(r"\S+").mean())
    if len(known) > DIFFERENT * len(given) and len(known) > 2:
        if words >= WORDS:
            return "text", np.empty(0), []
        if len(known) == len(given) and len(known) > 5:
            return "identifier", np.empty(0), ["has no value twice"]
        if len(known) > MOST_CATEGORIES:
            return "identifier", np.empty(0), ["has hardly a value twice (use --text for text)"]
    kept = known[np.argsort(-counts, kind="stable")][:MOST_CATEGORIES]
    columns = np.column_stack([(values == label).to_numpy(dtype=float) for label in kept])
    return "categories", columns, [str(label) for label in kept]


def _add_words(columns: Columns, frame: Any, named: Sequence[str]) -> None:
    """Add weights of the words of all columns of texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = {}
    for name in columns.texts:
        series = frame[name]
        texts = series.astype(object).where(series.notna(), "").map(str)
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2 if len(texts) > 50 else 1)
        try:
            weights = sp.csr_matrix(vectorizer.fit_transform(texts))
        except ValueError as error:
            if name in named:
                text = f"--text {name}: no word of this column occurs twice; leave the option out."
                raise TableError(text) from error
            text = f"{name!r} has no word that occurs twice and was left out."
            columns.findings.append(Finding("identifier", str(name), text))
            continue
        found[name] = (weights, vectorizer.get_feature_names_out())
        if name not in named:
            columns.findings.append(Finding("note", str(name), f"{name!r} was read as text."))
    columns.texts = list(found)
    for name, (_, words) in found.items():
        columns.words += [f"{name}: {word}" if len(found) > 1 else str(word) for word in words]
    if found:
        columns.text = sp.hstack([weights for weights, _ in found.values()], format="csr")
