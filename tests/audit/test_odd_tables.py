"""Tables as people have them: what a person would expect of each, and what the command does."""

import bz2
import gzip
import json
import sqlite3
import warnings
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from htsvm.cli import build_app

RNG = np.random.default_rng(7)
N = 60
CLASS = np.arange(N) % 3
SIZE = np.round(4.0 * CLASS + RNG.normal(size=N), 2)
NAMES = np.array(["barolo", "barbera", "grignolino"])[CLASS]
WORDS = (
    "ripe dark cherry and tar", "light red fruit and acid", "pale dry herbs and pepper",
)  # fmt: skip


def lines(x=SIZE, y=NAMES, header="size,other,wine", sep=",", end="\n", other=None):
    other = np.round(SIZE / 2 + 1, 3) if other is None else other
    rows = [sep.join(map(str, row)) for row in zip(x, other, y, strict=True)]
    return end.join([header, *rows, ""])


def with_line(number, text, **options):
    """Return the table with another line; the header is line 1."""
    table = lines(**options).splitlines()
    table[number - 1] = text
    return "\n".join(table) + "\n"


def column(values):
    return lines(other=list(values))


def spoiled(values, places, what):
    values = [str(value) for value in values]
    for place in places:
        values[place] = what
    return values


def packed(name="x.txt", content="hello"):
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


FULL = [f"{i + 1}" for i in RNG.permutation(1000)[:N]]
SOME = range(3, N, 7)
# (what a person has, the file, its content, exit code, words of the answer)
CASES = [
    ("a plain table", "t.csv", lines(), 0, "60 labels"),
    ("no newline at the end", "t.csv", lines().rstrip("\n"), 0, "60 labels"),
    ("Windows line ends", "t.csv", lines(end="\r\n"), 0, "60 labels"),
    ("line ends of an old Macintosh", "t.csv", lines(end="\r"), 0, "60 labels"),
    ("a byte order mark", "t.csv", b"\xef\xbb\xbf" + lines().encode(), 0, "60 labels"),
    ("UTF-16 with a mark", "t.csv", lines().encode("utf-16"), 0, "60 labels"),
    ("UTF-16 without", "t.csv", lines().encode("utf-16-le"), 0, "60 labels"),
    ("Latin-1", "t.csv", lines(header="size,caf\xe9,wine").encode("latin-1"), 0,
     "read as Windows-1252"),
    ("bytes of no encoding", "t.csv", lines().encode() + b"\x81\xff,1,barolo\n", 1,
     "neither UTF-8 nor"),
    ("semicolons", "t.csv", lines(sep=";", header="size;other;wine"), 0, "60 labels"),
    ("tabs", "t.tsv", lines(sep="\t", header="size\tother\twine"), 0, "60 labels"),
    ("bars", "t.txt", lines(sep="|", header="size|other|wine"), 0, "60 labels"),
    ("a line that names the separator", "t.csv",
     "sep=;\r\n" + lines(sep=";", header="size;other;wine"), 0, "60 labels"),
    ("semicolons and decimal commas", "t.csv",
     lines(x=[f"{x}".replace(".", ",") for x in SIZE], sep=";", header="size;other;wine"), 0,
     "'size' was read as numbers"),
    ("decimal commas in quotes", "t.csv",
     lines(x=[f'"{x:.2f}"'.replace(".", ",") for x in SIZE]), 0, "'size' was read as numbers"),
    ("packed by gzip", "t.csv.gz", gzip.compress(lines().encode()), 0, "60 labels"),
    ("a broken pack", "t.csv.gz", gzip.compress(lines().encode())[:80], 1, "cannot be unpacked"),
    ("a spreadsheet", "t.xlsx", packed("xl/workbook.xml"), 1, "save the sheet"),
    ("a spreadsheet named as CSV", "t.csv", packed("xl/workbook.xml"), 1, "save the sheet"),
    ("an old spreadsheet", "t.xls", b"\xd0\xcf\x11\xe0" + bytes(600), 1, "save the sheet"),
    ("a ZIP archive", "t.zip", packed(), 1, "unpack it"),
    ("JSON", "t.json", json.dumps([{"wine": "barolo"}]), 1, "pandas.read_json"),
    ("zero bytes", "t.csv", b"a,b\0\1\2,c\n1,2,3\n", 1, "zero bytes"),
    ("Parquet that is none", "t.parquet", lines(), 1, "cannot be read as Parquet"),
    ("UTF-32", "t.csv", lines().encode("utf-32"), 0, "60 labels"),
    ("UTF-16 that breaks off", "t.csv", lines().encode("utf-16")[:-1], 1, "begins as utf-16-le"),
    ("packed by bzip2", "t.csv.bz2", bz2.compress(lines().encode()), 1, "pack that by gzip"),
    ("a broken pack within", "t.csv.gz", gzip.compress(lines().encode())[:40] + bytes(99), 1,
     "cannot be unpacked"),
    ("a web page named as a spreadsheet", "t.xls", "<html><table>", 1, "is a page, not a table"),
    ("JSON named as CSV", "t.csv", json.dumps([{"wine": "barolo"}]), 1, "pandas.read_json"),
    ("a broken SQLite file", "t.db", b"SQLite format 3\0" + bytes(range(256)) * 9, 1, "t.db: "),
    ("blanks between cells", "t.txt", lines(sep=" ", header="size other wine"), 1,
     "told apart by , ; | or tabs"),
    ("a title above the header", "t.csv", "Wines of 2021\n\n" + lines(), 1,
     "take away what stands above"),
    ("a named separator alone", "t.csv", "sep=;\n", 1, "is empty"),
    ("an index and empty columns without names", "t.csv",
     "\n".join(f",{line},," if i == 0 else f"{i},{line},," for i, line in
               enumerate(lines().splitlines())), 0, "'column 5' is empty and was left out"),
    ("an empty file", "t.csv", "", 1, "is empty"),
    ("a file of blank lines", "t.csv", "\n \n\n", 1, "is empty"),
    ("a header alone", "t.csv", "size,other,wine\n", 1, "no rows"),
    ("two rows", "t.csv", "size,other,wine\n1,2,barolo\n2,3,barbera\n", 1, "too few"),
    ("a comma too many in every line", "t.csv",
     "wine,grade,x\n" + "".join(f"{y},a,{x},\n" for x, y in zip(SIZE, NAMES, strict=True)), 1,
     "line 2 has 4 cells, but the header has 3"),
    ("a comma too many in one line", "t.csv", with_line(7, "1,2,barolo,"), 1,
     "line 7 has 4 cells"),
    ("a cell too few", "t.csv", with_line(9, "1,barolo"), 1, "line 9 has 2 cells"),
    ("blank lines between", "t.csv", lines().replace("\n", "\n\n"), 0, "60 labels"),
    ("a line break in quotes", "t.csv", with_line(5, '4.1,"3\n",barolo'), 0, "60 labels"),
    ("a quote that stays open", "t.csv", with_line(5, '"4.1,3,barolo'), 1,
     "line 5: a quote is opened"),
    ("two quotes that stay open", "t.csv",
     column(['"w' if i == 3 else 'w"' if i == 7 else "wz"[s % 2] for i, s in enumerate(CLASS)]),
     0, "Line 5 has a cell of 5 lines like rows: is a quote missing?"),
    ("inches in a cell", "t.csv", column([f'{s}"' if i % 2 else f'{s + 1}"' for i, s in
                                          enumerate(CLASS)]), 0, "60 labels"),
    ("two columns of a name", "t.csv", lines(header="size,size,wine"), 1, "named 'size'"),
    ("blanks around names", "t.csv", lines(header=" size , other , wine "), 0, "60 labels"),
    ("no such column", "t.csv", lines(header="size,other,vine"), 1,
     "--label wine: there is no such column"),
    ("blanks around labels", "t.csv", lines(y=spoiled(NAMES, SOME, "barolo ")), 0,
     "labels have blanks around them"),
    ("rows without a label", "t.csv", lines(y=spoiled(NAMES, SOME, "")), 0,
     "9 rows have no label and were left out, the first of them row 4"),
    *(
        (f"{mark} in place of labels", "t.csv", lines(y=spoiled(NAMES, SOME, mark)), 0,
         f"9 rows have no label ({mark}) and were left out")
        for mark in ("NA", "nan", "N/A", "?")
    ),
    ("labels + and -", "t.csv", lines(y=np.array(["+", "-", "none"])[CLASS]), 0, "60 labels"),
    ("labels 1 and 1.0", "t.csv", lines(y=spoiled(CLASS, SOME, "1.0")), 0,
     "Classes '1' and '1.0' count as different classes"),
    ("capitals", "t.csv", lines(y=spoiled(NAMES, SOME, "Barolo")), 0,
     "Classes 'Barolo' and 'barolo' count as different"),
    ("no label at all", "t.csv", lines(y=[""] * N), 1, "there are no labels"),
    ("one class", "t.csv", lines(y=["barolo"] * N), 1, "only one class"),
    ("a measurement as the label", "t.csv", lines(y=np.arange(N) / 7), 1,
     "looks like an identifier"),
    ("a label that begins with =", "t.csv", lines(y=np.array(["=1+1", "@x", "-y"])[CLASS]), 0,
     "60 labels"),
    ("a category with ' = '", "t.csv", column(np.array(["a = b", "c = d", " = "])[CLASS]), 0,
     "60 labels"),
    ("a column with ' = '", "t.csv", lines(header="size,big = good,wine"), 0, "60 labels"),
    *(
        (f"{mark!r} in a column of numbers", "t.csv", column(spoiled(FULL, SOME, mark)), 0,
         f"of the values of 'other' are missing ({mark})")
        for mark in ("N/A", "-", "NULL", "?", "NaN", "none")
    ),
    ("words in a column of numbers", "t.csv", column(spoiled(FULL, [9], "oops")), 1,
     "row 10 has 'oops'"),
    ("words below rows without a label", "t.csv",
     lines(other=spoiled(FULL, [9], "oops"), y=["", *NAMES[1:]]), 1, "row 10 has 'oops'"),
    *(
        (f"{mark} in a column of numbers", "t.csv", column(spoiled(FULL, SOME, mark)), 0,
         f"of 'other' are missing ({said})")
        for mark, said in (("inf", "infinite or too large"), ("1.7e308", "infinite or too large"),
                           ("-1e200", "infinite or too large"), ("#DIV/0!", "#DIV/0!"))
    ),
    ("tiny numbers", "t.csv", column([f"{i % 7}e-300" for i in range(N)]), 0, "60 labels"),
    ("a column of infinities", "t.csv", column(["inf"] * N), 0, "'other' is empty"),
    ("an empty column", "t.csv", column([""] * N), 0, "'other' is empty and was left out"),
    ("money", "t.csv", column([f'"${1000 + 37 * s:,}"' for s in CLASS]), 0,
     "'other' was read as numbers: '$1,000' is 1000"),
    ("thousands", "t.csv", column([f'"{1200 + 3700 * s:,}"' for s in CLASS]), 0, "'1,200' is 1200"),
    ("per cent", "t.csv", column([f"{12.5 + s} %" for s in CLASS]), 0, "'12.5 %' is 12.5"),
    ("dollars and euros", "t.csv", column([f"{'$€'[s % 2]}{i}.5" for i, s in enumerate(CLASS)]), 0,
     "whatever its unit ($, €)"),
    ("millions with dots", "t.csv", column([f"{1 + s}.234.567" for s in CLASS]), 0,
     "'1.234.567' is 1234567"),
    ("months", "t.csv", column([f"20{10 + i % 9}-{1 + s:02d}" for i, s in enumerate(CLASS)]), 0,
     "dates: year, month, day"),
    ("euros behind", "t.csv", column([f"{12 + s} €" for s in CLASS]), 0, "'12 €' is 12"),
    ("thin thousands", "t.csv", column([f"{1 + s}\u00a0200" for s in CLASS]), 0, "is 1200"),
    ("debts in brackets", "t.csv", column([f"({12 + s}.5)" for s in CLASS]), 0, "is -12.5"),
    ("dates", "t.csv", column([f"2021-0{1 + s}-1{i % 9}" for i, s in enumerate(CLASS)]), 0,
     "'other' was read as dates: year, month, day"),
    ("German dates", "t.csv", column([f"2{i % 9}.0{1 + s}.2021" for i, s in enumerate(CLASS)]), 0,
     "dates: day, month, year"),
    ("American dates", "t.csv", column([f"0{1 + s}/2{i % 9}/21" for i, s in enumerate(CLASS)]), 0,
     "dates: month, day, year"),
    ("dates with times", "t.csv",
     column([f"2021-03-0{1 + s}T1{s}:0{i % 9}:00Z" for i, s in enumerate(CLASS)]), 0, "as dates"),
    ("times of day", "t.csv", column([f"{8 + s}:{10 + i % 40}" for i, s in enumerate(CLASS)]), 0,
     "read as times of day"),
    ("times with am and pm", "t.csv",
     column([f"{1 + i % 12}:{10 + i % 40} {'ap'[s % 2]}m" for i, s in enumerate(CLASS)]), 0,
     "read as times of day"),
    ("dates with names of months", "t.csv",
     column([f"{1 + i % 28}-Jan-2021" for i in range(N)]), 0, "was read as dates"),
    ("dates of the year 9999", "t.csv",
     column(spoiled([f"2021-03-{10 + i % 20}" for i in range(N)], SOME, "9999-12-31")), 0,
     "was read as dates"),
    ("0000-00-00 among dates", "t.csv",
     column(spoiled([f"2021-03-{10 + i % 20}" for i in range(N)], SOME, "0000-00-00")), 0,
     "are missing (0000-00-00)"),
    ("a day that is none", "t.csv",
     column(spoiled([f"2021-03-{10 + i % 20}" for i in range(N)], [7], "2021-02-30")), 1,
     "holds dates but for 1 of its 60 rows; row 8 has '2021-02-30'"),
    ("thousands between tabs", "t.tsv",
     lines(sep="\t", header="size\tother\twine", other=spoiled(FULL, SOME, "1,234")), 0,
     "'1,234' is 1234"),
    ("thousands with dots", "t.csv",
     lines(x=[f"{x}".replace(".", ",") for x in SIZE], sep=";", header="size;other;wine",
           other=spoiled(FULL, SOME, "1.234")), 0, "'1.234' is 1234"),
    ("texts of single letters", "t.csv",
     column([" ".join("abcdefg"[i % 7:] + "xyz"[i % 3:]) + f" {i}" for i in range(N)]), 0,
     "'other' has no word that occurs twice and was left out"),
    ("texts without --text", "t.csv",
     column([f"{WORDS[s]} number {i}" for i, s in enumerate(CLASS)]), 0,
     "'other' was read as text"),
    ("identifiers", "t.csv", column([f"id-{i:03d}" for i in RNG.permutation(N)]), 0,
     "'other' has no value twice and was left out"),
    ("numbers of the rows", "t.csv", column(range(1, N + 1)), 0, "looks like a number of the row"),
    ("one value in every row", "t.csv", column(["x"] * N), 0, "the same value in every row"),
    ("truth values", "t.csv", column(np.array(["True", "False", "True"])[CLASS]), 0, "60 labels"),
    ("labels alone", "t.csv", "wine\n" + "".join(f"{y}\n" for y in NAMES), 1,
     "no column to judge the labels by"),
    *(
        (f"{mark} among numbers", "t.csv", column(spoiled(SIZE, range(0, N, 5), mark)),
         0, f"20.0% of the values of 'other' are missing ({mark})")
        for mark in ("n.a.", "unknown", "\\N", "n/d")
    ),
    ("dollars by name", "t.csv", column([f"US${1200 + s}" for s in CLASS]), 0, "is 1200"),
    ("crowns", "t.csv", column([f"{1200 + s} kr" for s in CLASS]), 0, "'1200 kr' is 1200"),
    ("lakhs", "t.csv", column([f'"{1 + s},23,456"' for s in CLASS]), 0, "is 123456"),
    ("blanks of no width", "t.csv", lines(y=spoiled(NAMES, SOME, "barolo\u200b")), 0,
     "Classes 'barolo' and 'barolo\\u200b' count as different"),
    ("labels in single quotes", "t.csv", lines(y=spoiled(NAMES, SOME, "'barolo'")), 0,
     "count as different classes"),
    ("accents written in two ways", "t.csv",
     lines(y=np.array(["caf\xe9", "cafe\u0301", "tea"])[CLASS]), 0, "count as different classes"),
    ("one class besides NA", "t.csv", lines(y=np.array(["barolo", "NA", "NA"])[CLASS]), 1,
     "only one class, 'barolo'. 40 rows have no label (NA) and were left out"),
    ("too few besides NA", "t.csv", lines(y=["barolo", "barbera", *["NA"] * (N - 2)]), 1,
     "too few for an audit, which needs 10 at least. 58 rows have no label (NA)"),
    ("HDF5", "t.h5", b"\x89HDF\r\n\x1a\n" + bytes(500), 1, "is of another program"),
    ("NumPy", "t.npy", b"\x93NUMPY\1\0" + bytes(500), 1, "is of another program"),
    ("Stata", "t.dta", b"<stata_dta><header>" + bytes(500), 1, "is of another program"),
    ("SPSS", "t.sav", b"$FL2@(#) SPSS DATA FILE" + bytes(500), 1, "is of another program"),
    ("an emoji among the labels", "t.csv", lines(y=np.array(["🐜", "🐝", "x"])[CLASS]), 0,
     "60 labels"),
]  # fmt: skip


def run(*words):
    """Run the command; a RuntimeWarning is an error, an exception that gets out a traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return CliRunner().invoke(build_app(), ["audit", *map(str, words)])


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def said(done):
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("name", "content", "code", "words"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_odd_tables(tmp_path, name, content, code, words):
    path = write(tmp_path, name, content)
    before = path.read_bytes()
    page = tmp_path / "page.html"
    done = run(path, "--label", "wine", "-o", page)
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert done.exit_code == code, done.output
    assert words in said(done)
    assert path.read_bytes() == before
    assert page.exists() == (code == 0)
    assert page.with_suffix(".csv").exists() == (code == 0)


def test_there_are_forty():
    assert len(CASES) >= 40


def test_feather_and_parquet_keep_the_types_of_columns(tmp_path):
    pytest.importorskip("pyarrow")
    classes = ["other", *sorted(set(NAMES), reverse=True)]
    labels = pd.Series(pd.Categorical(NAMES, categories=classes, ordered=True))
    frame = pd.DataFrame(
        {"size": SIZE, "flag": CLASS == 1, "count": pd.array([*range(N - 1), None], "Int64"),
         "day": pd.date_range("2020", periods=N)[CLASS * 9 + np.arange(N) % 9], "wine": labels}
    )  # fmt: skip
    for name in ("t.parquet", "t.feather"):
        path, clean = tmp_path / name, tmp_path / f"clean{name[1:]}"
        getattr(frame, "to_" + name[2:])(path)
        before = path.read_bytes()
        done = run(path, "--label", "wine", "-o", tmp_path / "page.html", "--all", "--force")
        assert done.exit_code == 0, done.output
        decisions = decided(tmp_path / "page.html", {2: "barolo", 5: "other wine"})
        done = run("apply", path, decisions, "-o", clean)
        assert done.exit_code == 0, done.output
        after = getattr(pd, "read_" + name[2:])(clean)
        assert after["wine"].tolist()[:6] == [*NAMES[:2], "barolo", *NAMES[3:5], "other wine"]
        assert after["wine"].dtype == pd.CategoricalDtype([*classes, "other wine"], ordered=True)
        assert after["htsvm_given"].tolist()[:6] == ["", "", NAMES[2], "", "", NAMES[5]]
        same = after.drop(columns=["wine", "htsvm_reviewed", "htsvm_given"])
        pd.testing.assert_frame_equal(same, frame.drop(columns="wine"), check_dtype=True)
        assert path.read_bytes() == before


@pytest.mark.parametrize("ending", ["parquet", "db::t"])
def test_a_new_label_is_the_one_without_blanks(tmp_path, ending):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"size": SIZE, "wine": [*NAMES[:-2], "barbera ", " barolo"]})
    frame.to_parquet(tmp_path / "t.parquet")
    with sqlite3.connect(tmp_path / "t.db") as base:
        frame.to_sql("t", base, index=False)
    path = f"{tmp_path / 't'}.{ending}"
    assert run(path, "--label", "wine", "-o", tmp_path / "page.html", "--all").exit_code == 0
    decisions = decided(tmp_path / "page.html", {2: "barolo", 3: "barbera"})
    assert run("apply", path, decisions, "-o", tmp_path / "c.parquet").exit_code == 0
    after = pd.read_parquet(tmp_path / "c.parquet")["wine"].tolist()
    assert after == [*NAMES[:2], "barolo", "barbera", *frame["wine"][4:]]


def test_truth_values_as_labels_stay_truth_values(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"size": SIZE, "ok": CLASS == 1}).to_parquet(path)
    assert run(path, "--label", "ok", "-o", tmp_path / "page.html", "--all").exit_code == 0
    decisions = decided(tmp_path / "page.html", {0: "True"})
    assert run("apply", path, decisions, "-o", tmp_path / "c.parquet").exit_code == 0
    after = pd.read_parquet(tmp_path / "c.parquet")["ok"]
    assert after.dtype == bool
    assert after.tolist() == [True, *(CLASS[1:] == 1)]


def test_sqlite(tmp_path):
    path = tmp_path / "cellar.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE wines (size REAL, note TEXT, wine TEXT)")
        rows = zip(SIZE.tolist(), [None, *["x", "y"] * N][:N], NAMES.tolist(), strict=True)
        base.executemany("INSERT INTO wines VALUES (?, ?, ?)", rows)
    before = path.read_bytes()
    done = run(path, "--label", "wine", "-o", tmp_path / "page.html")
    assert done.exit_code == 1
    assert "cellar.db::TABLE. There are: wines." in said(done)
    done = run(f"{path}::wines", "--label", "wine", "-o", tmp_path / "page.html", "--all")
    assert done.exit_code == 0, done.output
    decisions = decided(tmp_path / "page.html", {1: "barolo"})
    done = run("apply", f"{path}::wines", decisions, "-o", tmp_path / "clean.csv")
    assert done.exit_code == 0, done.output
    assert pd.read_csv(tmp_path / "clean.csv")["wine"][1] == "barolo"
    assert path.read_bytes() == before
    assert run("apply", f"{path}::wines", decisions, "-o", tmp_path / "c.csv.gz").exit_code == 0
    assert (
        gzip.decompress((tmp_path / "c.csv.gz").read_bytes())
        == (tmp_path / "clean.csv").read_bytes()
    )


def test_a_missing_label_of_sqlite_stays_missing(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"size": SIZE, "raw": [b"\xff\x00", b"t"] * 30, "wine": [None, *NAMES[1:]]}
    )
    with sqlite3.connect(tmp_path / "t.db") as base:
        frame.to_sql("t", base, index=False)
    name = f"{tmp_path / 't.db'}::t"
    done = run(name, "--label", "wine", "-o", tmp_path / "page.html", "--all")
    assert done.exit_code == 0, done.output
    decisions = decided(tmp_path / "page.html", {1: "barolo"})
    assert run("apply", name, decisions, "-o", tmp_path / "c.parquet").exit_code == 0
    after = pd.read_parquet(tmp_path / "c.parquet")
    assert after["wine"].isna().tolist() == [True] + [False] * (N - 1)
    assert after["raw"].tolist() == frame["raw"].tolist()


def test_the_mark_of_a_review_is_no_label(tmp_path):
    path = write(tmp_path, "t.csv", lines(header="size,other,htsvm_reviewed"))
    for option in ("--label", "--id", "--text"):
        rest = () if option == "--label" else ("--label", "other")
        done = run(path, option, "htsvm_reviewed", *rest, "-o", tmp_path / "page.html")
        assert done.exit_code == 1
        assert f"{option} htsvm_reviewed: that column marks reviewed rows" in said(done)


def test_text_may_be_named_again(tmp_path):
    texts = [f"{WORDS[s]},{WORDS[s][::-1]}" for s in CLASS]
    path = write(tmp_path, "t.csv", "one,two,wine\n" + "".join(
        f"{text},{name}\n" for text, name in zip(texts, NAMES, strict=True)))  # fmt: skip
    done = run(
        path,
        "--label",
        "wine",
        "--text",
        "one",
        "--text",
        "two",
        "--all",
        "-o",
        tmp_path / "p.html",
    )
    assert done.exit_code == 0, done.output
    assert WORDS[0] in (tmp_path / "p.html").read_text()


# ------------------------------------------------------------------------ nothing is lost


def shown(page):
    html = page.read_text(encoding="utf-8")
    return json.loads(html.split('id="data">')[1].split("</script>")[0])


def decided(page, new, name="corrections.csv"):
    """Write what the page would export for some rows of the table, counted from 0."""
    data = shown(page)
    rows = data["rows"]
    found = []
    for i, number in enumerate(rows["number"]):
        if number - 1 in new:
            given = data["classes"][rows["given"][i]]
            found.append([number, rows["id"][i], given, "other", new[number - 1], rows["key"][i],
                          data["label"], data["idColumn"], data["mark"]])  # fmt: skip
    columns = ["row", "id", "given_label", "decision", "new_label", "key", "label_column",
               "id_column", "table"]  # fmt: skip
    assert len(found) == len(new)
    path = page.with_name(name)
    pd.DataFrame(found, columns=columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("encoding", "bom", "end", "sep"),
    [("utf-8", b"\xef\xbb\xbf", "\r\n", ","), ("utf-16-le", b"\xff\xfe", "\n", ";"),
     ("cp1252", b"", "\r\n", ";"), ("utf-8", b"", "\n", "\t")],
)  # fmt: skip
def test_apply_changes_no_other_byte(tmp_path, encoding, bom, end, sep):
    """Odd quotes, blanks, leading zeros, 1.50: all stays as it is written."""
    rows = [f'0{i}{sep}"{x} "{sep}1.50{sep} {y}' for i, (x, y) in
            enumerate(zip(np.round(SIZE, 1), NAMES, strict=True))]  # fmt: skip
    for i in range(0, N, 2):
        rows[i] = rows[i].replace("1.50", '"say ""é"""')
    text = end.join([f"nr{sep}size{sep}note{sep}wine", *rows]) + end + end
    path = write(tmp_path, "t.csv", bom + text.encode(encoding))
    done = run(path, "--label", "wine", "-o", tmp_path / "page.html", "--all")
    assert done.exit_code == 0, done.output
    decisions = decided(tmp_path / "page.html", {4: "barolo", 9: "barbera"})
    clean = tmp_path / "clean.csv"
    done = run("apply", path, decisions, "-o", clean)
    assert done.exit_code == 0, done.output
    content = clean.read_bytes()
    assert content.startswith(bom)
    expected = [f"nr{sep}size{sep}note{sep}wine{sep}htsvm_reviewed{sep}htsvm_given"]
    for i, row in enumerate(rows):
        head, _, label = row.rpartition(sep)
        label = {4: "barolo", 9: "barbera"}.get(i, label)
        marks = f"1{sep}{NAMES[i]}" if i in (4, 9) else sep
        expected.append(f"{head}{sep}{label}{sep}{marks}")
    assert content[len(bom) :].decode(encoding) == end.join(expected) + end + end
    # And once more, on the table that has the column now.
    done = run(clean, "--label", "wine", "-o", tmp_path / "page.html", "--all", "--force")
    again = decided(tmp_path / "page.html", {5: "barolo"})
    assert run("apply", clean, again, "-o", tmp_path / "more.csv").exit_code == 0
    more = (tmp_path / "more.csv").read_bytes()[len(bom) :].decode(encoding).split(end)
    assert [i for i, (a, b) in enumerate(zip(more, expected, strict=False)) if a != b] == [6]


def test_the_table_is_never_written_to(tmp_path):
    for name, output in (("audit.csv", "audit.html"), ("t.html", "t.html"), ("t.csv", "t.csv")):
        path = write(tmp_path, name, lines())
        for extra in ((), ("--force",)):
            done = run(path, "--label", "wine", "-o", tmp_path / output, *extra)
            assert done.exit_code == 1
            assert path.read_text() == lines()
    assert "ends in .html" in said(done)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["audit.csv", "t.csv", "t.html"]
    link = tmp_path / "page.csv"
    link.hardlink_to(tmp_path / "t.csv")
    done = run(tmp_path / "t.csv", "--label", "wine", "-o", tmp_path / "page.html", "--force")
    assert "is read here and never written to" in said(done)
    assert link.read_text() == lines()


def test_apply_writes_neither_to_the_table_nor_to_the_corrections(tmp_path):
    path = write(tmp_path, "t.csv", lines())
    run(path, "--label", "wine", "-o", tmp_path / "page.html", "--all")
    decisions = decided(tmp_path / "page.html", {4: "barolo"})
    for target in (path, decisions):
        before = target.read_bytes()
        done = run("apply", path, decisions, "-o", target, "--force")
        assert done.exit_code == 1
        assert "never written to" in said(done)
        assert target.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [("folder.csv", "is a folder"), ("c.xlsx", "other formats are not written"), ("c.db", "other"),
     ("gone/c.csv", "make it, or give another")],
)  # fmt: skip
def test_apply_refuses_what_it_does_not_write(tmp_path, name, words):
    path = write(tmp_path, "t.csv", lines())
    (tmp_path / "folder.csv").mkdir()
    refused = run(path, "--label", "wine", "-o", tmp_path / "folder.html", "--force")
    assert "folder.csv is a folder" in said(refused)
    assert not (tmp_path / "folder.html").exists()
    run(path, "--label", "wine", "-o", tmp_path / "page.html", "--all")
    decisions = decided(tmp_path / "page.html", {4: "barolo"})
    before = sorted(tmp_path.rglob("*"))
    done = run("apply", path, decisions, "-o", tmp_path / name, "--force")
    assert done.exit_code == 1, done.output
    assert words in said(done)
    assert sorted(tmp_path.rglob("*")) == before


def test_two_audits_in_a_folder_do_not_collide(tmp_path):
    path = write(tmp_path, "t.csv", lines())
    for name in ("one.html", "two.html"):
        assert run(path, "--label", "wine", "-o", tmp_path / name).exit_code == 0
    assert {p.name for p in tmp_path.glob("*.csv")} == {"t.csv", "one.csv", "two.csv"}
    refused = run(path, "--label", "wine", "-o", tmp_path / "issues.csv")
    assert refused.exit_code == 1
    assert not (tmp_path / "issues.csv").exists()


@pytest.mark.parametrize(
    "change",
    [lambda f: f.drop(columns="other"), lambda f: f.iloc[::-1], lambda f: f.iloc[1:],
     lambda f: f.assign(size=f["size"].where(f.index != 50, "9"))],
)  # fmt: skip
@pytest.mark.parametrize("id", [(), ("--id", "key")])
def test_decisions_about_another_table_are_refused(tmp_path, change, id):
    frame = pd.DataFrame({"key": [f"k{i}" for i in range(N)], "size": SIZE.astype(str),
                          "other": CLASS, "wine": NAMES})  # fmt: skip
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    run(path, "--label", "wine", *id, "-o", tmp_path / "page.html", "--all")
    decisions = decided(tmp_path / "page.html", {4: "barolo"})
    change(frame).to_csv(path, index=False)
    done = run("apply", path, decisions, "-o", tmp_path / "clean.csv")
    assert done.exit_code == 1
    assert "made for another table, or t.csv has changed since" in said(done)
    assert not (tmp_path / "clean.csv").exists()


def test_no_cell_is_a_formula(tmp_path):
    """Neither in the list of suspects nor in the corrections; apply takes the mark off again."""
    odd = np.array(["=1+1", "@sum", "-3"])[(CLASS + (np.arange(N) % 9 == 0)) % 3]
    table = lines(y=odd, other=[f"+id{i}" for i in range(N)])
    path = write(tmp_path, "t.csv", table)
    assert run(path, "--label", "wine", "--id", "other", "-o", tmp_path / "p.html").exit_code == 0
    issues = pd.read_csv(tmp_path / "p.csv", dtype=str)
    assert len(issues)
    assert issues["id"].str.startswith("'+id").all()
    assert set(issues["given_label"]) | set(issues["predicted_label"]) <= {"'=1+1", "'@sum", "-3"}
