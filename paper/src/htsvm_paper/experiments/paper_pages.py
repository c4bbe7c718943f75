"""The paper's claims and errata: read from their one source, shown as tables and as pages."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from htsvm_paper.experiments.blocks import Block, Words, about

# For one claim and for several.
PLURALS = {"holds": "hold", "in part": "hold in part", "fails": "fail", "untested": "untested"}
VERDICTS = {
    "holds": "holds", "in part": "holds in part", "fails": "fails", "untested": "cannot be tested"
}  # fmt: skip
MADE = "<!-- Made by python -m htsvm_paper.experiments.publish; edit the source there. -->"
# The profile of the report in the repository.
PROFILE = "hours"
# How many cells of an experiment were computed with this version, and how many it has.
Computed = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper: what it says and where, what became of it, and on what that rests.

    The evidence: errata (``"E9"``), tests (``"tests/…"``) and sections of the report
    (``"#stl10"``).
    """

    claim: str
    where: str
    verdict: str
    evidence: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Erratum:
    """An error or a gap in the paper: what is printed, why it is wrong, what is done here."""

    name: str
    title: str
    weight: str
    printed: str
    wrong: str
    here: str


def claims() -> list[Claim]:
    """Return all claims, in the order of the paper."""
    found = [Claim(**{**c, "evidence": tuple(c["evidence"])}) for c in _read("claims")["claim"]]
    for claim in found:
        if claim.verdict not in VERDICTS:
            raise ValueError(f"Unknown verdict {claim.verdict!r} of {claim.claim!r}.")
    return found


def errata() -> dict[str, Erratum]:
    """Return all errata by name."""
    return {name: Erratum(name, **fields) for name, fields in _read("errata").items()}


def _read(name: str) -> dict[str, Any]:
    folder = resources.files("htsvm_paper.experiments").joinpath("paper")
    return tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8"))


def basis(claim: Claim, computed: Computed) -> str:
    """Return with which version the experiments were computed that a verdict rests on.

    Empty for a claim that rests on proofs and tests alone.
    """
    counts = [computed.get(place[1:], (0, 1)) for place in claim.evidence if place[0] == "#"]
    there, every = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    if not every:
        return ""
    if there == every:
        return "0.2"
    return f"0.2 ({there:,} of {every:,} cells), 0.1" if there else "0.1"


def _counted() -> str:
    counts = Counter(claim.verdict for claim in claims())
    return ", ".join(f"{counts[name]} {words}" for name, words in PLURALS.items())


def verdicts(computed: Computed) -> list[Block]:
    """Return the verdicts for the report: how many, then one line for each claim."""
    every = claims()
    lines = [
        f"{VERDICTS[c.verdict]}: {c.claim} ({c.where})"
        + (f"; {c.note}." if c.note else ".")
        + (f" [{version}]" if (version := basis(c, computed)) else "")
        for c in every
    ]
    words = about("claims", count=len(every), told=_counted())
    return [words, Words(tuple(lines), "Every claim and its verdict")]


def claims_page(computed: Computed) -> str:
    """Return the page of the claims."""
    rows = [
        (c.claim, c.where, f"**{VERDICTS[c.verdict]}**{f': {c.note}' if c.note else ''}",
         ", ".join(map(_link, c.evidence)), basis(c, computed))
        for c in claims()
    ]  # fmt: skip
    head = "| claim | where | verdict | evidence | results of version |"
    # A bar within a place is escaped.
    lines = (" | ".join(place.replace("|", r"\|") for place in row) for row in rows)
    table = "\n".join([head, "|---|---|---|---|---|", *(f"| {line} |" for line in lines)])
    words = about("claims-page", told=_counted()).lines[0]
    return f"{MADE}\n\n# A verdict on every claim\n\n{words}\n\n{table}\n"


def errata_page(_: Computed) -> str:
    """Return the page of the errata."""
    parts = [
        f"({e.name.lower()})=\n## {e.name} {e.title}\n\n*{WEIGHTS[e.weight]}*\n\n"
        f"- **Printed:** {e.printed}\n- **Why it is wrong:** {e.wrong}\n- **Here:** {e.here}"
        for e in errata().values()
    ]
    words = about("errata-page").lines[0]
    return "\n\n".join([MADE, "# Errata", words, *parts]) + "\n"


WEIGHTS = {
    "A": "Changes results or theory.", "B": "Matters for repeating the paper.", "C": "Wording.",
}  # fmt: skip


def _link(evidence: str) -> str:
    if evidence.startswith("E"):
        return f"[{evidence}](errata.md#{evidence.lower()})"
    if evidence.startswith("#"):
        from htsvm_paper.experiments.catalogue import EXPERIMENTS

        experiment = EXPERIMENTS[evidence[1:]]
        return f"[report: {experiment.title}](../report.md#{anchor(experiment.heading)})"
    return f"[`{evidence}`](../../{evidence})"


def anchor(heading: str) -> str:
    """Return the name by which Markdown pages link to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


PAGES = {"claims.md": claims_page, "errata.md": errata_page}
