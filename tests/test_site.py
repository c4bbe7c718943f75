"""The documentation as it is built: no warnings, no broken pictures or links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

LOOKED_AT = (
    "index.html", "start/five-minutes.html", "guide/choosing.html", "guide/certificates.html",
    "guide/finding-wrong-labels.html", "auto_examples/index.html",
    "auto_examples/plot_wrong_labels_in_five_minutes.html", "reference/index.html",
    "reference/generated/htsvm.HTSVC.html", "report.html", "developers/architecture.html",
)  # fmt: skip
BROKEN = "[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Links(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    target = tmp_path_factory.mktemp("site")
    if not (ROOT / "docs" / "report.md").exists():
        made = tmp_path_factory.mktemp("report") / "report.html"
        subprocess.run(
            [sys.executable, "-m", "htsvm_paper", "report", "--profile", "hours", "--store",
             str(ROOT / "paper" / "results" / "results.csv.gz"), "--output", str(made)],
            check=True, capture_output=True,
        )  # fmt: skip
        shutil.copy(made.with_suffix(".md"), ROOT / "docs")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
         str(ROOT / "docs"), str(target)],
        env={**os.environ, "HTSVM_OFFLINE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return target


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page) for page in site.rglob("*.html") if "_static" not in page.parts}


def test_pictures_and_scripts_are_there_and_ours(site, pages):
    for page, links in pages.items():
        for target in links.loaded:
            place = urlsplit(target)
            assert not place.netloc, f"{page.name} loads {target}"
            if place.scheme != "data":
                assert (page.parent / unquote(place.path)).is_file(), f"{page.name}: {target}"


def test_links_within_the_site_lead_somewhere(site, pages):
    for page, links in pages.items():
        if page.name == "report.html" and page.parent == site:
            continue
        for target in links.links:
            place = urlsplit(target)
            if place.scheme or place.netloc or not (place.path or place.fragment):
                continue
            other = (page.parent / unquote(place.path)).resolve() if place.path else page.resolve()
            assert other.exists(), f"{page.relative_to(site)}: {target}"
            if place.fragment and other in pages:
                assert unquote(place.fragment) in pages[other].names, f"{page.name}: {target}"


def test_no_page_tells_where_it_was_built(site, pages):
    """As the warnings of an example would."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text, page.relative_to(site)


def test_every_example_has_a_page_with_a_picture(site):
    for example in (ROOT / "examples").glob("plot_*.py"):
        page = site / "auto_examples" / f"{example.stem}.html"
        assert f"sphx_glr_{example.stem}_001.png" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_pages_in_a_browser(site, browser, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    errors = []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else 0
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url)
            if request.url.startswith("http") else 0)  # fmt: skip
    for name in LOOKED_AT:
        page.goto((site / name).as_uri())
        page.wait_for_load_state("load")
        assert page.evaluate(BROKEN) == [], name
        assert page.evaluate(OVERFLOW) <= 0, f"{name} scrolls sideways at {width} px"
    assert errors == []
    page.close()


def test_search_works_offline(site, browser):
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=certificate")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert page.locator("#search-results li").count() > 3
    page.close()
