"""Tables as people have them."""

import numpy as np
import pandas as pd
import pytest

from htsvm.audit.table import TableError, read_table, tabular


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
    X, names, findings = tabular(frame)
    assert names == ["size", "colour = red", "colour = blue"]
    assert np.isfinite(X).all()
    assert {(f.kind, f.where) for f in findings} == {
        ("missing", "size"), ("constant", "flat"), ("identifier", "key"), ("identifier", "number")
    }  # fmt: skip


def test_numbers_with_a_word_among_them_are_refused(tmp_path):
    lines = [f"{i / 7:.3f},{'ab'[i % 2]}" for i in range(100)]
    lines[9] = "oops,a"
    path = write(tmp_path, "x,y\n" + "\n".join(lines))
    with pytest.raises(TableError, match=r"column 'x' .* 1 of its 100 rows; row 10 has 'oops'"):
        read_table(path, "y")


def test_parquet_and_csv_agree(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(40) % 7 + 0.5, "y": ["u", "v"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    csv, parquet = (read_table(tmp_path / f"t.{kind}", "y") for kind in ("csv", "parquet"))
    np.testing.assert_allclose(csv.X, parquet.X)
    assert csv.y.tolist() == parquet.y.tolist()


@pytest.mark.parametrize("kind", [object, "string", float])
def test_a_missing_label_of_parquet_is_named(tmp_path, kind):
    pytest.importorskip("pyarrow")
    labels = pd.Series([1, 0] * 20).astype(kind if kind is float else str).astype(kind)
    labels[7] = None
    pd.DataFrame({"x": np.arange(40) % 7, "y": labels}).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(TableError, match=r"column 'y' has no label in 1 rows, .* row 8"):
        read_table(tmp_path / "data.parquet", "y")


def test_text(tmp_path):
    path = write(tmp_path, "words,y\n" + "good day,a\nbad night,b\n" * 30)
    table = read_table(path, "y", text="words")
    assert table.X.shape == (60, 4)
    assert table.text == "words"


def test_images(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pytest.importorskip("skimage")
    rng = np.random.default_rng(0)
    for i in range(6):
        Image.fromarray(rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)).save(
            tmp_path / f"{i}.png"
        )
    path = write(tmp_path, "file,y\n" + "".join(f"{i}.png,{'ab'[i % 2]}\n" for i in range(6)))
    table = read_table(path, "y", image="file")
    assert set(table.X) == {"hog", "lbp"}
    (tmp_path / "3.png").write_bytes(b"no image")
    with pytest.raises(TableError, match=r"column 'file', row 4: the image .*3\.png"):
        read_table(path, "y", image="file")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "is empty"),
        ("a,y\n", {}, "no rows"),
        ("a,x\n1,2\n", {}, "--label y: there is no such column; there are a, x"),
        ("a,y\n1,\n2,\n", {}, "column 'y' is empty"),
        ("a,y\n1,u\n2, \n3,v\n", {}, "the first of them row 2"),
        ("a,y\n1,u\n2,u\n", {}, "only one class, 'u'"),
        ("a,y\n" + "".join(f"{i},{i}\n" for i in range(50)), {}, "50 different values in 50 rows"),
        ("a,y\n" + "1,u\n1,v\n" * 5, {}, "no column to judge the labels by"),
        ("a,a,y\n1,1,u\n", {}, "two columns named 'a'"),
        (b"a,y\n1,u\n2,caf\xe9\n", {}, "not UTF-8: line 3 holds the byte 0xe9"),
        ("k,a,y\np,1,u\nq,2,v\np,3,u\n", {"id": "k"}, "row 3 has the id 'p' of row 1"),
        ("a,y\n1,u\n2,v,5,6\n", {}, "not a CSV table"),
        ("a,y\n1,u\n2,v\n", {"text": "t"}, "--text t"),
    ],
)  # fmt: skip
def test_bad_tables(tmp_path, text, options, words):
    with pytest.raises(TableError, match=words):
        read_table(write(tmp_path, text), "y", **options)


def test_missing_file(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "none.csv", "y")
