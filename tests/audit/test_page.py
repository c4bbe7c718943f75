"""The page in a real browser: load, review by keyboard, export, apply."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.audit_page import SCROLL, many_rows
from typer.testing import CliRunner

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
    return page, errors


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
    issues = pd.read_csv(tmp_path / "issues.csv", dtype=str)
    first = issues["row"].astype(int).to_numpy()[:2] - 1
    assert np.array_equal(np.flatnonzero(changed), np.sort(first))
    assert after["kind"][first[0]] == issues["predicted_label"][0]


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
