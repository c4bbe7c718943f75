"""Tables as people have them."""

import sqlite3
import sys
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from htsvm.audit.columns import columns_of
from htsvm.audit.reading import TableError
from htsvm.audit.table import read_table


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns_become_numbers():
    frame = pd.DataFrame(
        {
            "size": ["1.5", "2.5", "?", "3.5"] * 10,
            "colour": ["red", "blue", "red", ""] * 10,
            "flat": ["x"] * 40,
            "key": [f"k{i}" for i in range(40)],
            "number": [str(i) for i in range(40)],
        }
    )
    frame = pd.concat([frame, frame.assign(key=[f"l{i}" for i in range(40)])], ignore_index=True)
    frame["number"] = [str(i) for i in range(80)]
    columns = columns_of(frame)
    assert [*map(str, columns.features)] == ["size", "colour = red", "colour = blue"]
    assert np.isfinite(columns.numbers).all()
    assert {(f.kind, f.where) for f in columns.findings} == {
        ("missing", "size"), ("constant", "flat"), ("identifier", "key"), ("identifier", "number")
    }  # fmt: skip


DAYS = ("2021-03-01 10:00", "2021-03-02 21:30", "2020-02-29 00:15", "1999-12-31 12:45")


@pytest.mark.parametrize(
    ("written", "parts"),
    [("%Y-%m-%dT%H:%MZ", 1440), ("%d.%m.%Y %H:%M:00.0", 1440), ("%m/%d/%Y %I:%M %p", 1440),
     ("%d-%b-%Y", 1), ("%B %d, %Y", 1), ("%d %b %Y %H:%M", 1440), ("%Y/%m/%d", 1)],
)  # fmt: skip
def test_dates_are_read_as_they_are_written(written, parts):
    days = [datetime.fromisoformat(day) for day in DAYS * 5]
    if parts == 1:
        days = [day.replace(hour=0, minute=0) for day in days]
    read = columns_of(pd.DataFrame({"x": [day.strftime(written) for day in days]})).plain["x"]
    expected = [(day - days[0]).total_seconds() / 86400 for day in days]
    np.testing.assert_allclose(read - read[0], expected, atol=1e-9)


def test_times_in_zones_are_moments():
    cells = ["2021-03-01T10:00:00+02:00", "2021-03-01 08:00Z", "2021-03-01T03:30:00-0430"] * 9
    read = columns_of(pd.DataFrame({"x": [*cells, "2021-03-02 08:00Z"]})).plain["x"]
    np.testing.assert_allclose(np.diff(read), [0.0] * 26 + [1.0], atol=1e-9)


def test_dates_of_every_type_are_the_same_days():
    arrow = pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2020-03-01 07:00", periods=40, freq="7h")).astype(object)
    days[3] = None
    days = pd.to_datetime(days)
    zone = days.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    frame = pd.DataFrame({
        "plain": days, "zone": zone, "text": days.dt.strftime("%Y-%m-%d %H:%M").fillna(""),
        "arrow": days.astype(pd.ArrowDtype(arrow.timestamp("ns"))),
        "both": zone.astype(pd.ArrowDtype(arrow.timestamp("us", "Asia/Tokyo"))),
        "span": days - days[0],
        "spans": (days - days[0]).astype(pd.ArrowDtype(arrow.duration("us"))),
    })  # fmt: skip
    plain = columns_of(frame).plain
    expected = np.delete(np.arange(40) * 7 / 24, 3)
    for name in frame:
        found = np.delete(plain[name], 3)
        np.testing.assert_allclose(found - found[0], expected, atol=1e-9, err_msg=name)


def test_lists_in_cells_are_left_out():
    columns = columns_of(pd.DataFrame({"x": [[0.1, 0.2 * i, 0.3] for i in range(40)]}))
    assert columns.views() == {}
    assert columns.findings[0].text == "'x' holds lists and was left out."


def test_an_index_with_a_name_is_a_column_of_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": ["u", "v"] * 20})
    folder = tmp_path / "z=3"  # This is no partition of a table.
    folder.mkdir()
    frame.set_axis(pd.Index([f"k{i}" for i in range(40)], name="k")).to_parquet(
        folder / "t.parquet"
    )
    table = read_table(folder / "t.parquet", "y", id="k")
    assert table.keys[:2] == ["k0", "k1"]
    frame.sample(frac=1.0, random_state=0).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "y").frame.columns.tolist() == ["x", "y"]


def test_parquet_and_csv_agree(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(40) % 7 + 0.5, "y": ["u", "v"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    csv, parquet = (read_table(tmp_path / f"t.{kind}", "y") for kind in ("csv", "parquet"))
    np.testing.assert_allclose(csv.X, parquet.X)
    assert csv.y.tolist() == parquet.y.tolist()


@pytest.mark.parametrize("kind", [object, "string", float])
def test_a_missing_label_of_parquet_is_left_out(tmp_path, kind):
    pytest.importorskip("pyarrow")
    labels = pd.Series([1, 0] * 20).astype(kind if kind is float else str).astype(kind)
    labels[7] = None
    pd.DataFrame({"x": np.arange(40) % 7, "y": labels}).to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet", "y")
    assert len(table.y) == len(table.places) == 39
    assert 7 not in table.places
    assert any("1 rows have no label" in finding.text for finding in table.findings)


def test_text(tmp_path):
    path = write(tmp_path, "words,y\n" + "good day,a\nbad night,b\n" * 30)
    table = read_table(path, "y", text=["words"])
    assert table.X.shape == (60, 4)
    assert table.columns.texts == ["words"]


def test_images(tmp_path, monkeypatch):
    Image = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")
    rng = np.random.default_rng(0)
    for i in range(6):
        Image.fromarray(rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)).save(
            tmp_path / f"{i}.png"
        )
    path = write(tmp_path, "file,y\n" + "".join(f"{i % 6}.png,{'ab'[i % 2]}\n" for i in range(12)))
    table = read_table(path, "y", image="file")
    assert set(table.X) == {"hog", "lbp"}
    (tmp_path / "3.png").write_bytes(b"no image")
    path.write_text(path.read_text().replace("0.png,a", "0.png,"))  # A row without a label.
    with pytest.raises(TableError, match=r"column 'file', row 4: the image .*3\.png"):
        read_table(path, "y", image="file")
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(TableError, match="--image needs pillow and scikit-image"):
        read_table(path, "y", image="file")


def test_ids_must_be_different(tmp_path):
    path = write(tmp_path, "k,a,y\n" + "p,1,u\nq,2,v\np,3,u\n" * 5)
    with pytest.raises(TableError, match="row 3 has the id 'p' of row 1"):
        read_table(path, "y", id="k")
    with pytest.raises(TableError, match="--id y: that is the column with the labels"):
        read_table(path, "y", id="y")
    with sqlite3.connect(tmp_path / "t.db") as base:
        frame = pd.DataFrame({"k": [1, None, None, *range(2, 19)], "y": ["u", "v"] * 10})
        frame.to_sql("t", base, index=False)
    with pytest.raises(TableError, match="row 3 has the id 'None' of row 2"):
        read_table(f"{tmp_path / 't.db'}::t", "y", id="k")


def test_missing_file(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv", "y")


def test_a_row_is_known_by_its_cells(tmp_path):
    rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(40)]
    first = read_table(write(tmp_path, "\n".join(["x,z,y", *rows])), "y")
    assert len(set(first.keys)) == 40
    relabelled = [rows[0][:-1] + "c", *rows[1:]]
    second = read_table(write(tmp_path, "\n".join(["x,z,y", *relabelled])), "y")
    assert second.keys[1:] == first.keys[1:]
    assert second.keys[0] not in first.keys
    assert second.mark != first.mark
    swapped = [rows[1], rows[0], *rows[2:]]
    third = read_table(write(tmp_path, "\n".join(["x,z,y", *swapped])), "y")
    assert third.keys[:2] == first.keys[1::-1]
