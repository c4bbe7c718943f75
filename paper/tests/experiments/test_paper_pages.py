from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from htsvm.losses import HybridTruncated
from htsvm_paper.experiments.catalogue import EXPERIMENTS
from htsvm_paper.experiments.paper_pages import PAGES, Claim, basis, claims, errata
from htsvm_paper.experiments.publish import stored, write_pages

ROOT = Path(__file__).parents[3]


def test_the_pages_of_the_site_are_those_of_the_source(tmp_path):
    """Write them again with: python -m htsvm_paper.experiments.publish STORE."""
    write_pages(stored(ROOT / "paper" / "results" / "results.csv.gz")[0], tmp_path)
    for name in PAGES:
        made = (tmp_path / name).read_text(encoding="utf-8")
        assert (ROOT / "docs" / "paper" / name).read_text(encoding="utf-8") == made


def test_a_verdict_names_the_version_that_it_rests_on():
    claim = Claim("it is fast", "Table 5", "fails", ("E9", "#single-view", "#synthetic"))
    there = {"single-view": (10, 10), "synthetic": (0, 30)}
    assert basis(claim, there) == "0.2 (10 of 40 cells), 0.1"
    assert basis(claim, {**there, "synthetic": (30, 30)}) == "0.2"
    assert basis(claim, {}) == "0.1"
    assert basis(Claim("lemma", "Lemma 1", "holds", ("E7", "tests/x.py")), there) == ""


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


def test_links_to_the_report_lead_to_its_sections():
    slugify = pytest.importorskip("mdit_py_plugins.anchors.index").slugify
    there = {slugify(experiment.heading) for experiment in EXPERIMENTS.values()}
    page = (ROOT / "docs" / "paper" / "claims.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"report\.md#([^)]+)", page))
    assert len(linked) > 5
    assert linked <= there


def test_errata_are_numbered_without_gaps():
    assert list(errata()) == [f"E{i}" for i in range(1, len(errata()) + 1)]
    assert len(errata()) >= 35
    assert all(text.strip() for e in errata().values() for text in (e.printed, e.wrong, e.here))


def test_comments_point_to_errata_that_exist():
    known, pointed = errata(), set()
    for folder in ("src", "paper", "tests", "examples", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyx", ".md") and path.name not in PAGES:
                text = path.read_text(encoding="utf-8")
                pointed |= set(re.findall(r"\b(?:errat(?:a|um) )(E\d+)\b", text))
                pointed |= set(re.findall(r"\((E\d+)\)", text))
    assert pointed, "nothing points to the errata"
    assert pointed <= set(known)


def test_names_of_code_on_the_page_exist():
    text = (ROOT / "docs" / "paper" / "from-paper-to-code.md").read_text(encoding="utf-8")
    dotted = set(re.findall(r"`(htsvm(?:_paper)?(?:\.\w+)+)", text))
    assert len(dotted) >= 10
    for name in dotted:
        assert resolve(name), name
    for name in re.findall(r"htsvm-paper reproduce ([a-z][\w-]+)", text):
        assert name in EXPERIMENTS
    for method in re.findall(r"`HybridTruncated\.(\w+)`", text):
        assert hasattr(HybridTruncated, method)


def resolve(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute, None)
