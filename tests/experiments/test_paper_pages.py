from __future__ import annotations

import re
from pathlib import Path

import pytest

from htsvm.experiments.catalogue import EXPERIMENTS
from htsvm.experiments.paper_pages import PAGES, claims, errata

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
