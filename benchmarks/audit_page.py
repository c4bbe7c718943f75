"""The review page in headless Chromium: a hundred thousand rows, and how smoothly they scroll."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plan import Plan
from htsvm.audit.page import render

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser_path() -> str | None:
    """Return the path of a Chromium, or None."""
    return os.environ.get("HTSVM_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def many_rows(n: int) -> dict[str, Any]:
    """Return the data of a page with so many suspects."""
    rng = np.random.default_rng(0)
    trust = np.sort(rng.random(n)).round(4)
    return {
        "name": "many.csv", "place": "p", "mark": "m", "label": "y", "idColumn": "", "size": n,
        "classes": ["a", "b", "c"], "fits": 2,
        "summary": "", "findings": [], "histogram": [1] * 25, "whole": True,
        "first": [], "review": {
            "mean": [1.9, 0.1, 1.2, 1.4], "precision": np.eye(4).tolist(), "reviewed": 0,
            "spotless": True, "enough": 50, "free": n, "sample": [[0.0, 1.0, 0.0]],
            "weight": [1.0], "learnable": True,
        },
        "pairs": [[k, j, 0.3] for k in range(3) for j in range(3)], "sorted": True,
        "images": None,
        "rows": {
            "row": list(range(n)), "number": list(range(1, n + 1)), "rank": list(range(1, n + 1)),
            "key": [f"k{i}" for i in range(n)], "id": [f"row {i}" for i in range(n)],
            "given": rng.integers(0, 2, n).tolist(), "suggested": [2] * n, "trust": trust.tolist(),
            "evidence": [[0.0, 1.0, 0.0]] * n,
            "ignored": [1] * n, "duplicate": [-1] * n, "outlier": [0] * n, "text": None,
            "reasons": None, "near": None,
        },
    }  # fmt: skip


SCROLL = """() => new Promise((done) => {
  const list = document.getElementById("list"), times = [];
  let frame = 0;
  const step = (now) => {
    times.push(now);
    list.scrollTop += 30000;
    if (++frame < 90) requestAnimationFrame(step);
    else done(1000 * (times.length - 1) / (times.at(-1) - times[0]));
  };
  requestAnimationFrame(step);
})"""


def frames_per_second(plan: Plan) -> float | None:
    """Scroll through 100,000 rows; None where there is no browser."""
    path = browser_path()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        plan.say("the page: skipped, there is no browser or no playwright")
        return None
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "page.html"
        file.write_text(render(many_rows(100_000)), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.goto(file.as_uri())
        found = float(np.median([page.evaluate(SCROLL) for _ in range(3)]))
        browser.close()
    plan.say(f"the page: {found:.0f} frames per second")
    return found
