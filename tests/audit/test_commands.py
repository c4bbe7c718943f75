"""``htsvm audit`` and ``htsvm audit apply``."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from htsvm.audit import audit_labels
from htsvm.audit.commands import NOTHING_LEARNED
from htsvm.audit.table import read_table
from htsvm.cli import build_app
from tests.audit.data import blobs


def run(*words):
    return CliRunner().invoke(build_app(), ["audit", *map(str, words)])


@pytest.fixture
def table(tmp_path):
    X, y, _, _ = blobs(120)
    frame = pd.DataFrame(X, columns=list("abcd")).round(3)
    frame.insert(0, "key", [f"k{i}" for i in range(120)])
    frame["kind"] = np.array(["ant", "bee", "007"])[y]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def audited(table):
    output = table.with_name("audit.html")
    done = run(table, "--label", "kind", "--id", "key", "--output", output)
    assert done.exit_code == 0, done.output
    return done, output


def corrections_for(table, decide):
    """Return a corrections file as the page would write it, about the rows named as issues."""
    html = table.with_name("audit.html").read_text()
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    keys = dict(zip(data["rows"]["number"], data["rows"]["key"], strict=True))
    issues = pd.read_csv(table.with_name("audit.csv"), dtype=str)
    lines = [
        {"row": row.row, "id": row.id, "given_label": row.given_label,
         **dict(zip(("decision", "new_label"), decide(row), strict=True)),
         "key": keys[int(row.row)], "label_column": data["label"], "id_column": data["idColumn"],
         "table": data["mark"]}
        for row in issues.itertuples()
    ]  # fmt: skip
    path = table.with_name("corrections.csv")
    pd.DataFrame(lines).to_csv(path, index=False)
    return path


def test_audit_writes_a_page_and_a_list(table):
    done, output = audited(table)
    assert "wrong" in done.output
    issues = pd.read_csv(table.with_name("audit.csv"), dtype=str)
    assert issues["id"].str.startswith("k").all()
    assert "007" in set(issues["given_label"]) | set(issues["predicted_label"])
    assert output.read_text().startswith("<!doctype html>")
    again = run(table, "--label", "kind", "--output", output)
    assert again.exit_code == 1
    assert "--force" in again.output


def test_apply_and_audit_again(table):
    _, output = audited(table)
    path = corrections_for(table, lambda row: ("accept", row.predicted_label))
    clean = table.with_name("clean.csv")
    done = run("apply", table, path, "--output", clean)
    assert done.exit_code == 0, done.output
    before, after = (pd.read_csv(p, dtype=str) for p in (table, clean))
    issues = pd.read_csv(table.with_name("audit.csv"), dtype=str)
    rows = issues["row"].astype(int).to_numpy() - 1
    assert after["kind"].iloc[rows].tolist() == issues["predicted_label"].tolist()
    others = np.setdiff1d(np.arange(120), rows)
    assert after["kind"].iloc[others].equals(before["kind"].iloc[others])
    assert (after["htsvm_reviewed"] == "1").sum() == len(rows)
    assert run("apply", table, path, "--output", clean).exit_code == 1
    second = run(clean, "--label", "kind", "--id", "key", "--output", output, "--force")
    assert second.exit_code == 0, second.output
    named = pd.read_csv(table.with_name("audit.csv"), dtype=str)
    assert not set(named["id"]) & set(issues["id"])


@pytest.mark.parametrize(("new", "code"), [("2", 0), ("newt", 1)])
def test_apply_to_parquet_with_gaps_and_numbers_as_labels(table, new, code):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(table)
    frame["kind"] = frame["kind"].map({"ant": 1, "bee": 2, "007": 7})
    frame["place"] = np.where(np.arange(120) % 2, "pond", None)
    frame.loc[5, "key"] = None
    parquet, clean = table.with_suffix(".parquet"), table.with_name("clean.parquet")
    frame.to_parquet(parquet)
    audited(parquet)
    path = corrections_for(parquet, lambda row: ("other", new))
    done = run("apply", parquet, path, "--output", clean)
    assert done.exit_code == code, done.output
    assert clean.exists() == (code == 0)
    if code:
        assert "column 'kind' holds values of the type int64" in done.output
        assert "'newt'" in done.output
    else:
        after = pd.read_parquet(clean)
        assert after["kind"].dtype == frame["kind"].dtype
        assert after["place"].isna().sum() == 60


def test_unsure_changes_nothing(table):
    pytest.importorskip("pyarrow")
    audited(table)
    path = corrections_for(table, lambda row: ("unsure", ""))
    clean = table.with_name("clean.parquet")
    done = run("apply", table, path, "--output", clean)
    assert done.exit_code == 0, done.output
    assert pd.read_parquet(clean)["kind"].tolist() == pd.read_csv(table, dtype=str)["kind"].tolist()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [("decision", "maybe", "is not one of"), ("new_label", "", "no new_label"),
     ("key", "x", "twice"), ("given_label", "emu", "the reviewed label is 'emu'"),
     ("label_column", "sort", "has no column 'sort'"), ("table", "x", "another table")],
)  # fmt: skip
def test_bad_corrections(table, column, value, words):
    audited(table)
    path = corrections_for(table, lambda row: ("keep", row.given_label))
    frame = pd.read_csv(path, dtype=str)
    frame[column] = value
    frame.to_csv(path, index=False)
    done = run("apply", table, path, "--output", table.with_name("clean.csv"))
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())
    assert not table.with_name("clean.csv").exists()


def test_corrections_of_an_older_version_are_refused(table):
    audited(table)
    path = corrections_for(table, lambda row: ("keep", row.given_label))
    pd.read_csv(path, dtype=str).drop(columns=["key"]).to_csv(path, index=False)
    done = run("apply", table, path, "--output", table.with_name("clean.csv"))
    assert done.exit_code == 1
    assert "Audit the table again" in " ".join(done.output.split())


def test_a_failed_run_leaves_nothing(table, monkeypatch):
    def fail(*_):
        raise ValueError("no page today")

    monkeypatch.setattr("htsvm.audit.page.render", fail)
    before = sorted(table.parent.iterdir())
    done = run(table, "--label", "kind", "--output", table.with_name("audit.html"))
    assert done.exit_code == 1
    assert "no page today" in done.output
    assert sorted(table.parent.iterdir()) == before


def test_errors_name_what_is_wrong(table):
    done = run(table, "--label", "species")
    assert done.exit_code == 1
    assert "--label species: there is no such column" in done.output


def test_nothing_to_predict_has_an_exit_code_of_its_own(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame["kind"] = np.array(["ant", "bee"])[rng.integers(0, 2, 200)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run(tmp_path / "t.csv", "--label", "kind", "--output", tmp_path / "p.html")
    assert done.exit_code == NOTHING_LEARNED == 3
    assert done.output.strip().startswith(
        "No column predicts the labels measurably better than chance"
    )
    assert len(pd.read_csv(tmp_path / "p.csv")) == 0


def test_python_and_the_command_give_the_same_answer(table):
    _, _ = audited(table)
    issues = pd.read_csv(table.with_name("audit.csv"), dtype={"id": str})
    frame = pd.read_csv(table)
    mine = audit_labels(frame.drop(columns=["key", "kind"]), frame["kind"]).issues()
    assert (mine.index + 1).tolist() == issues["row"].tolist()
    np.testing.assert_allclose(mine["label_score"], issues["label_score"])


def test_the_loop_audit_review_apply_audit(tmp_path):
    """A second audit knows what the first review found, and says how many labels are wrong."""
    X, y, true, _ = blobs(400, rate=0.2, spread=2.0)
    names = np.array(["ant", "bee", "cat"])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=names[y])
    frame.to_csv(tmp_path / "t.csv", index=False)
    first = run(tmp_path / "t.csv", "--label", "kind", "-o", tmp_path / "p.html")
    assert "at most" in first.output
    html = (tmp_path / "p.html").read_text()
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    lines = []
    for i in data["first"]:
        row = data["rows"]["row"][i]
        kept = y[row] == true[row]
        lines.append(
            {"row": row + 1, "id": data["rows"]["id"][i], "given_label": names[y[row]],
             "decision": "keep" if kept else "other", "new_label": names[true[row]],
             "key": data["rows"]["key"][i], "label_column": "kind", "id_column": "",
             "table": data["mark"]}
        )  # fmt: skip
    assert len(lines) == 50
    pd.DataFrame(lines).to_csv(tmp_path / "c.csv", index=False)
    done = run("apply", tmp_path / "t.csv", tmp_path / "c.csv", "-o", tmp_path / "clean.csv")
    assert done.exit_code == 0, done.output
    second = run(tmp_path / "clean.csv", "--label", "kind", "-o", tmp_path / "q.html")
    assert "as 50 reviewed rows show" in " ".join(second.output.split())
    clean = read_table(tmp_path / "clean.csv", "kind")
    audit = audit_labels(clean.X, clean.y, trusted=clean.trusted, given=clean.given)
    truth = np.mean(clean.y != names[true])
    assert audit.share_wrong.low <= truth <= audit.share_wrong.high
    assert truth < np.mean(y != true)
    reviewed = np.array([line["row"] for line in lines]) - 1
    assert np.all(audit.trust[reviewed] == 1.0)
    again = json.loads(
        (tmp_path / "q.html").read_text().split('id="data">')[1].split("</script>")[0]
    )
    assert again["first"] == []
    assert again["review"]["reviewed"] == 50
