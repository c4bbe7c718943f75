"""Tables as people have them."""

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


def test_images(tmp_path):
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
    with pytest.raises(TableError, match=r"column 'file', row 4: the image .*3\.png"):
        read_table(path, "y", image="file")


def test_ids_must_be_different(tmp_path):
    path = write(tmp_path, "k,a,y\n" + "p,1,u\nq,2,v\np,3,u\n" * 5)
    with pytest.raises(TableError, match="row 3 has the id 'p' of row 1"):
        read_table(path, "y", id="k")


def test_missing_file(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv", "y")


def test_a_row_is_known_by_its_cells_but_the_label(tmp_path):
    rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(40)]
    first = read_table(write(tmp_path, "\n".join(["x,z,y", *rows])), "y")
    assert len(set(first.keys)) == 40
    relabelled = [rows[0][:-1] + "b", *rows[1:]]
    second = read_table(write(tmp_path, "\n".join(["x,z,y", *relabelled])), "y")
    assert second.keys == first.keys
    assert second.mark != first.mark
    swapped = [rows[1], rows[0], *rows[2:]]
    third = read_table(write(tmp_path, "\n".join(["x,z,y", *swapped])), "y")
    assert third.keys[:2] == first.keys[1::-1]
