"""The page in a real browser: load, review by keyboard, export, apply."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.audit_page import SCROLL, many_rows
from typer.testing import CliRunner

from htsvm.audit.corrections import plain_cell
from htsvm.audit.page import render, safe_json
from htsvm.cli import build_app
from tests.audit.data import blobs

ATTACK = '</script><img src=x onerror="window.hacked=1"><!--<script>\u2028"\'&'


@pytest.fixture
def audited(tmp_path):
    """Return a table with hostile contents, audited."""
    X, y, _, _ = blobs(90, rate=0.2)
    frame = pd.DataFrame(X, columns=["a", "b", f"c{ATTACK[:40]}", "d"]).round(3)
    frame.insert(0, "key", [f"k{i}{ATTACK}" for i in range(90)])
    frame["kind"] = np.array(["ant", "bee", f"=cat{ATTACK}"])[y]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    done = call(path, "--label", "kind", "--id", "key", "--output", tmp_path / "audit.html")
    assert done.exit_code == 0, done.output
    return path


def call(*words):
    return CliRunner().invoke(build_app(), ["audit", *map(str, words)])


def opened(browser, path, **options):
    """Return a page and the list that collects its errors."""
    page = browser.new_context(accept_downloads=True, **options).new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.goto(path.as_uri())
    by_trust(page)
    return page, errors


def by_trust(page):
    """Show the least trusted rows first, not those that calibrate the audit."""
    page.select_option("#order", "trust")
    page.focus("#list")


def test_review_by_keyboard_export_and_apply(browser, audited, tmp_path):
    page, errors = opened(browser, tmp_path / "audit.html")
    assert page.evaluate("window.hacked") is None
    n = len(page.evaluate("JSON.parse(document.getElementById('data').textContent).rows.row"))
    remaining = page.inner_text("#wrong")
    for key in ("a", "a", "k", "u", "a", "z"):
        page.keyboard.press(key)
    assert page.evaluate("htsvmAudit.decisions()") == 4
    assert f"4 of {n} reviewed" in page.inner_text("#left")
    assert page.inner_text("#wrong") != remaining
    page.keyboard.press("o")
    page.select_option("#other", label="bee")
    assert page.evaluate("htsvmAudit.decisions()") == 5
    page.reload()  # The browser has kept the state.
    assert page.evaluate("htsvmAudit.decisions()") == 5
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert page.evaluate("htsvmAudit.decisions()") == 3
    with page.expect_download() as waiting:
        page.keyboard.press("e")
    corrections = tmp_path / "corrections.csv"
    waiting.value.save_as(corrections)
    assert errors == []
    done = call("apply", audited, corrections, "--output", tmp_path / "clean.csv")
    assert done.exit_code == 0, done.output
    assert "2 labels changed, 1 confirmed, 0 left as unsure" in done.output
    before, after = (pd.read_csv(p, dtype=str) for p in (audited, tmp_path / "clean.csv"))
    changed = before["kind"] != after["kind"]
    issues = pd.read_csv(tmp_path / "audit.csv", dtype=str)
    first = issues["row"].astype(int).to_numpy()[:2] - 1
    assert np.array_equal(np.flatnonzero(changed), np.sort(first))
    assert after["kind"][first[0]] == issues["predicted_label"].map(plain_cell)[0]


def review(browser, tmp_path, table, *options):
    """Audit a table to one path and return the open page."""
    done = call(table, "--label", "kind", *options, "--output", tmp_path / "audit.html", "--force")
    assert done.exit_code == 0, done.output
    browser.goto((tmp_path / "audit.html").as_uri())
    by_trust(browser)
    return browser


def decided(page):
    return page.evaluate("htsvmAudit.decisions()")


def export(page, path):
    with page.expect_download() as waiting:
        page.keyboard.press("e")
    waiting.value.save_as(path)
    return pd.read_csv(path, dtype=str)


@pytest.mark.parametrize("id", [(), ("--id", "key")])
def test_decisions_belong_to_a_row_and_to_one_audit(browser, tmp_path, id):
    """Audit, review, change the table, audit to the same path, review, apply."""
    X, y, _, _ = blobs(90, rate=0.3)
    frame = pd.DataFrame(X, columns=list("abcd")).round(3)
    frame.insert(0, "key", [f"k{i}" for i in range(90)])
    frame["kind"] = np.array(["ant", "bee", "cat"])[y]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    page = browser.new_context(accept_downloads=True).new_page()
    review(page, tmp_path, path, *id)
    for key in "aaaka":
        page.keyboard.press(key)
    first = export(page, tmp_path / "first.csv")
    assert len(first) == decided(page) == 5
    # The same table again: the review goes on where it was.
    assert decided(review(page, tmp_path, path, *id)) == 5
    assert page.locator("#changed").is_hidden()
    # Without a column rows have other neighbours and another order; nobody's decision is shown.
    changed = frame.drop(columns="d")
    changed.loc[frame["key"] == first["id"].iloc[0], "kind"] = "cat" if id else "ant"
    changed.to_csv(path, index=False)
    review(page, tmp_path, path, *id)
    assert decided(page) == 0
    assert "is not the one that was reviewed" in page.inner_text("#changedText")
    same = int(page.inner_text("#takeOver").split()[-1])
    keys = page.evaluate("JSON.parse(data.textContent).rows.key")
    if not id:
        # Rows are known by their cells, and these have changed.
        assert same == 0
        assert page.locator("#takeOver").is_disabled()
        page.click("#startAnew")
    else:
        given = dict(zip(changed["key"], changed["kind"], strict=True))
        still = [
            row for row in first.itertuples() if row.id in keys and given[row.id] == row.given_label
        ]
        assert same == len(still) < 5
        page.click("#takeOver")
        taken = export(page, tmp_path / "taken.csv")
        assert set(taken["id"]) == {row.id for row in still}
        assert dict(zip(taken["id"], taken["new_label"], strict=True)) == {
            row.id: row.new_label for row in still
        }
    assert page.locator("#changed").is_hidden()
    assert call("apply", path, tmp_path / "first.csv", "-o", tmp_path / "c.csv").exit_code == 1
    page.keyboard.press("a")
    second = export(page, tmp_path / "second.csv")
    done = call("apply", path, tmp_path / "second.csv", "-o", tmp_path / "c.csv")
    assert done.exit_code == 0, done.output
    before, after = pd.read_csv(path, dtype=str), pd.read_csv(tmp_path / "c.csv", dtype=str)
    places = second["row"].astype(int).to_numpy() - 1
    assert after["kind"].iloc[places].tolist() == second["new_label"].tolist()
    others = np.setdiff1d(np.arange(90), places)
    assert after["kind"].iloc[others].equals(before["kind"].iloc[others])


@pytest.fixture
def reviewed(browser, tmp_path):
    """Return a table, its file, a browser, and what opens its page after another audit."""
    X, y, _, _ = blobs(90, rate=0.3)
    frame = pd.DataFrame(X, columns=list("abcd")).round(3)
    frame.insert(0, "key", [f"k{i}" for i in range(90)])
    frame["kind"] = np.array(["ant", "bee", "cat"])[y]
    frame["sort"] = np.roll(frame["kind"], 1)
    context = browser.new_context(accept_downloads=True)

    def audit(frame, *options):
        frame.to_csv(tmp_path / "data.csv", index=False)
        return review(context.new_page(), tmp_path, tmp_path / "data.csv", "--id", "key", *options)

    return frame, context, audit


def press(page, keys):
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(50)  # Until the state is written.


def test_two_tabs_lose_nothing(reviewed, tmp_path):
    frame, context, audit = reviewed
    first, second = audit(frame), context.new_page()
    second.goto(first.url)
    by_trust(second)
    press(first, "kkk")
    press(second, ["End", "k"])
    press(first, ["Home", "z", "u"])
    third = context.new_page()
    third.goto(first.url)
    assert [decided(page) for page in (first, second, third)] == [4, 4, 4]
    exported = [export(page, tmp_path / "c.csv") for page in (first, second, third)]
    assert exported[0].equals(exported[1])
    assert exported[0].equals(exported[2])
    assert (exported[0]["decision"] == "unsure").sum() == 1


def test_decisions_about_rows_that_a_page_does_not_list_are_kept(reviewed):
    frame, _, audit = reviewed
    whole = audit(frame, "--all")
    keys = whole.evaluate("JSON.parse(data.textContent).rows.key")
    press(whole, ["k", "k", "End", "k", "k", "k", "z"])
    page = audit(frame)
    listed = set(page.evaluate("JSON.parse(data.textContent).rows.key"))
    missing = sum(key not in listed for key in keys[-2:])
    assert decided(page) == 4 - missing
    if missing:
        assert f"{missing} more about rows not listed here" in page.inner_text("#left")
    press(page, "k")
    assert decided(audit(frame, "--all")) == 5


def test_decisions_of_before_are_offered_until_that_is_settled(reviewed, tmp_path):
    frame, _, audit = reviewed
    old = export_after(audit(frame), "kkk", tmp_path)
    changed = frame.drop(columns="d")
    press(audit(changed, "--all"), ["End", "k"])
    page = audit(changed.assign(e=1), "--all")  # And changed once more.
    assert page.inner_text("#takeOver") == "Take over 4"
    row = page.evaluate("JSON.parse(data.textContent).rows.key").index(old["id"][0])
    press(page, ["Home", *["ArrowDown"] * row, "u"])
    page.click("#takeOver")
    now = export(page, tmp_path / "c.csv").set_index("id")
    assert len(now) == 4
    # What was decided meanwhile is not undone.
    assert now["decision"][old["id"]].tolist() == ["unsure", "keep", "keep"]
    assert audit(changed.assign(e=1), "--all").locator("#changed").is_hidden()


def export_after(page, keys, tmp_path):
    press(page, keys)
    return export(page, tmp_path / "before.csv")


def test_decisions_about_another_column_of_labels_are_not_offered(reviewed, tmp_path):
    frame, _, audit = reviewed
    press(audit(frame, "--all"), "kkk")
    call(tmp_path / "data.csv", "--label", "sort", "--id", "key", "--all", "--force",
         "--output", tmp_path / "audit.html")  # fmt: skip
    _, context, _ = reviewed
    page = context.new_page()
    page.goto((tmp_path / "audit.html").as_uri())
    assert decided(page) == 0
    assert page.locator("#changed").is_hidden()


def test_equal_rows_are_told_apart_by_their_labels(browser, tmp_path):
    X, y, _, _ = blobs(60, rate=0.3)
    frame = pd.DataFrame(X, columns=list("abcd")).round(3).assign(kind=np.array(list("xyz"))[y])
    twins = pd.concat([frame, frame.assign(kind=np.array(list("yzx"))[y])], ignore_index=True)
    path, page = tmp_path / "data.csv", browser.new_context(accept_downloads=True).new_page()
    twins.to_csv(path, index=False)
    press(review(page, tmp_path, path, "--all"), "uak")
    first = export(page, tmp_path / "c.csv")
    place = first["row"].astype(int).to_numpy() - 1
    one = np.setdiff1d(np.arange(120), place[:1])
    for changed, left in ((twins.iloc[::-1], 3), (pd.concat([twins] * 2), 3), (twins.iloc[one], 2)):
        changed.to_csv(path, index=False)
        review(page, tmp_path, path, "--all")
        page.click("#takeOver")
        taken = export(page, tmp_path / "taken.csv")
        assert len(taken) == left
        cells = changed.reset_index(drop=True).astype(str)
        for row in taken.itertuples():  # The same cells and label as the row that was decided.
            own = cells.iloc[int(row.row) - 1].tolist()
            then = first[first["key"] == row.key].iloc[0]
            assert own == twins.astype(str).iloc[int(then["row"]) - 1].tolist()


def test_a_browser_that_keeps_nothing_asks_before_it_leaves(browser, audited, tmp_path):
    page, errors = opened(browser, tmp_path / "audit.html")
    forbid = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    page.add_init_script(forbid)
    page.reload()
    assert "keeps no state" in page.inner_text("#said")
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    press(page, "k")
    assert "could not keep the state" in page.inner_text("#said")
    page.reload()
    assert asked == ["beforeunload"]
    press(page, "k")
    export(page, tmp_path / "c.csv")
    page.reload()
    assert asked == ["beforeunload"]
    assert errors == []


def test_no_share_is_claimed_before_a_review(browser, audited, tmp_path):
    page, _ = opened(browser, tmp_path / "audit.html")
    card = page.inner_text("#card")
    assert "Number 1 of 90 in the order of doubt" in card
    assert "doubtful" in card
    assert "in 100" not in card


def test_filters_and_plots(browser, audited, tmp_path):
    page, errors = opened(browser, tmp_path / "audit.html")
    shown = page.evaluate("htsvmAudit.shown()")
    page.select_option("#given", label="ant")
    fewer = page.evaluate("htsvmAudit.shown()")
    assert 0 < fewer < shown
    pairs = page.locator(".row:visible .pair").all_inner_texts()
    assert all(pair.startswith("ant") for pair in pairs)
    page.select_option("#given", "")
    trust = np.array(page.evaluate("JSON.parse(data.textContent).rows.trust"))
    assert len(trust) == shown
    for limit in (0.0, 0.01, 0.5):
        page.evaluate(f"below.value = {limit}; below.dispatchEvent(new Event('input'))")
        assert page.evaluate("htsvmAudit.shown()") == np.count_nonzero(trust <= limit)
    assert np.count_nonzero(trust <= 0.0) < shown
    page.evaluate("below.value = 1; below.dispatchEvent(new Event('input'))")
    page.click("summary")
    page.locator("#matrix button").nth(1).click()  # True ant, given bee.
    assert page.input_value("#given") == "1"
    assert page.input_value("#suggested") == "0"
    assert page.locator("#histogram rect").count() == 25
    assert errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_screen(browser, audited, tmp_path, scheme):
    page, errors = opened(
        browser, tmp_path / "audit.html", viewport={"width": 400, "height": 760},
        color_scheme=scheme,
    )  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for button in ("keep", "accept", "unsure", "undo", "export"):
        box = page.locator(f"#{button}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        assert box["y"] + box["height"] <= 760
    assert page.locator(".row:visible").count() >= 2
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    assert errors == []


def test_a_hundred_thousand_rows(browser, tmp_path):
    path = tmp_path / "many.html"
    path.write_text(render(many_rows(100_000)), encoding="utf-8")
    page, errors = opened(browser, path)
    assert page.locator(".row").count() < 60  # Only what is seen exists.
    page.keyboard.press("End")
    assert page.locator(".row.current .id").inner_text() == "row 99999"
    page.keyboard.press("a")
    assert page.evaluate("htsvmAudit.decisions()") == 1
    assert page.evaluate("htsvmAudit.shown()") == 99_999
    page.keyboard.press("Home")
    page.evaluate(SCROLL)
    top = page.evaluate("Math.floor(list.scrollTop / 44)")
    seen = page.locator(".row:visible .id").all_inner_texts()
    assert f"row {top}" in seen  # The rows in view are those of this place.
    assert errors == []


def test_data_cannot_end_its_block():
    text = safe_json({"x": ATTACK})
    assert "<" not in text
    assert json.loads(text) == {"x": ATTACK}
    with pytest.raises(ValueError, match="JSON compliant"):
        safe_json([float("nan")])


def test_fifty_rows_come_first_and_calibrate_the_page(browser, tmp_path):
    X, y, true, _ = blobs(400, rate=0.2, spread=2.0)
    names = np.array(["ant", "bee", "cat"])
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=names[y])
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = call(tmp_path / "t.csv", "--label", "kind", "-o", tmp_path / "audit.html")
    assert done.exit_code == 0, done.output
    page = browser.new_context(accept_downloads=True).new_page()
    page.goto((tmp_path / "audit.html").as_uri())
    data = json.loads(page.evaluate("data.textContent"))
    assert "Review 50 more" in page.inner_text("#wrong")
    for i in data["first"]:
        row = data["rows"]["row"][i]
        assert page.inner_text("#card h2") == data["rows"]["id"][i]
        page.select_option("#other", label=names[true[row]])
    assert page.evaluate("htsvmAudit.reviewed()") == 50
    assert "as 50 reviewed rows show" in page.inner_text("#wrong")
    assert "in 100 such labels are right" in page.inner_text("#card")
