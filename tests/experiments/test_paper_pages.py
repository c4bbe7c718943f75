from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from htsvm.experiments.catalogue import EXPERIMENTS
from htsvm.experiments.paper_pages import PAGES, claims, errata
from htsvm.losses import HybridTruncated

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_the_site_are_those_of_the_source(name):
    """Write them again with python -m htsvm.experiments.paper_pages docs/paper."""
    assert (ROOT / "docs" / "paper" / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_claim_has_evidence_that_exists():
    known = errata()
    assert len(claims()) >= 40
    for claim in claims():
        assert claim.evidence, claim
        for place in claim.evidence:
            if place.startswith("E"):
                assert place in known, claim
            elif place.startswith("#"):
                assert place[1:] in EXPERIMENTS, claim
            else:
                assert (ROOT / place).is_file(), claim


def test_errata_are_numbered_without_gaps():
    assert list(errata()) == [f"E{i}" for i in range(1, len(errata()) + 1)]
    assert len(errata()) >= 35
    assert all(text.strip() for e in errata().values() for text in (e.printed, e.wrong, e.here))


def test_comments_point_to_errata_that_exist():
    known, pointed = errata(), set()
    for folder in ("src", "tests", "examples", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyx", ".md") and path.name not in PAGES:
                text = path.read_text(encoding="utf-8")
                pointed |= set(re.findall(r"\b(?:errat(?:a|um) )(E\d+)\b", text))
                pointed |= set(re.findall(r"\((E\d+)\)", text))
    assert pointed, "nothing points to the errata"
    assert pointed <= set(known)


def test_names_of_code_on_the_page_exist():
    text = (ROOT / "docs" / "paper" / "from-paper-to-code.md").read_text(encoding="utf-8")
    dotted = set(re.findall(r"`(htsvm(?:\.\w+)+)", text))
    assert len(dotted) >= 10
    for name in dotted:
        assert resolve(name), name
    for name in re.findall(r"htsvm reproduce ([a-z][\w-]+)", text):
        assert name in EXPERIMENTS
    for method in re.findall(r"`HybridTruncated\.(\w+)`", text):
        assert hasattr(HybridTruncated, method)


def resolve(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute, None)
