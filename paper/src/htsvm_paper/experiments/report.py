"""The report: one HTML page that needs nothing else, and the same in Markdown."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from string import Template
from typing import TextIO

from htsvm_paper.experiments.blocks import Block, Entry, Table, Words
from htsvm_paper.experiments.differences import differences
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import METHODS
from htsvm_paper.experiments.overview import overview
from htsvm_paper.experiments.paper_pages import Computed, verdicts
from htsvm_paper.experiments.prose import sentences
from htsvm_paper.experiments.published import CONTEXT
from htsvm_paper.experiments.render import TABLE_HEAD, html, markdown, table_lines
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Task

TITLE = "Is it true? The hybrid truncated loss, measured again"
ABOUT = (
    "Every number of the paper's experiments beside the same number computed here. Two protocols, "
    "never in one table: “best grid point by test score” is what tables like the paper's "
    "usually show, and is optimistic; “grid point chosen by cross-validation on the training "
    "part” is what to expect on new data. Bold is the best of a row; the small line is the "
    "paper's number and the difference. ± is the standard deviation over folds or draws. "
    "Average ranks are over methods with a number in every row, ties averaged; the paper's are "
    "computed again from its printed numbers in the same way."
)


@dataclass(frozen=True)
class Section:
    """A part of the report: one experiment.

    Attributes
    ----------
    experiment : Experiment
        Which one.
    blocks : list
        What it shows.
    cells : list of Cell
        What it is made of.
    missing : list of Task
        What belongs to it and was never run.
    """

    experiment: Experiment
    blocks: list[Block]
    cells: list[Cell]
    missing: list[Task] = field(default_factory=list)


def collect(
    cells: Iterable[Cell], experiments: list[Experiment], profile: Profile
) -> list[Section]:
    """Return the sections of the experiments; those without results say so."""
    stored = {cell.task: cell for cell in cells}
    sections = []
    for experiment in experiments:
        tasks = experiment.tasks(profile)
        found = [stored[task] for task in tasks if task in stored]
        blocks: list[Block] = [Words((NOT_BEGUN,))]
        if found or not tasks:
            blocks = experiment.sections(Results(found, tasks), profile)
        missing = [task for task in tasks if task not in stored]
        sections.append(Section(experiment, blocks, found, missing))
    return sections


def as_html(sections: list[Section], runs: dict[int, dict[str, str]], profile: Profile) -> str:
    """Return the page."""
    entries = "".join(
        f"<li><a href='#{s.experiment.name}'>{escape(_heading(s.experiment))}</a> "
        f"<small>{escape(s.experiment.shows)}</small></li>"
        for s in sections
    )
    parts = "".join(
        f"<section id='{s.experiment.name}'><h2>{escape(_heading(s.experiment))} "
        f"<small>{escape(s.experiment.shows)}</small></h2>{''.join(map(html, s.blocks))}</section>"
        for s in sections
    )
    return Template(_resource("htsvm_paper.experiments", "report.html")).substitute(
        title=escape(TITLE),
        style=_resource("htsvm_paper.experiments.demo", "report.css")
        + _resource("htsvm_paper.experiments", "report.css"),
        about=escape(ABOUT),
        quick=f"<p><strong>{escape(QUICK)}</strong></p>" if profile.quick else "",
        contents=entries,
        opening=_opening_as_html(sections),
        verdicts="".join(map(html, verdicts(_computed(sections)))),
        overview="".join(map(html, [*_overview(sections), *_differences(sections)])),
        sections=parts,
        gaps="".join(map(html, gaps(sections))),
        costs="".join(map(html, costs(sections))),
        environment=escape(_environment(runs, sections)),
    )


def as_markdown(sections: list[Section], runs: dict[int, dict[str, str]], profile: Profile) -> str:
    """Return the report as Markdown."""
    parts = [f"# {TITLE}", ABOUT]
    if profile.quick:
        parts.append(f"**{QUICK}**")
    if lines := _prose(sections):
        parts += ["## In short", markdown(Words(tuple(lines)))]
    parts += ["## The paper's claims", *map(markdown, verdicts(_computed(sections)))]
    short = [*_overview(sections), *_differences(sections)]
    parts += ["## Paper against ours", *map(markdown, short)]
    for section in sections:
        parts.append(f"## {section.experiment.heading}")
        parts += map(markdown, section.blocks)
    parts += ["## What could not be reproduced", *map(markdown, gaps(sections))]
    parts += ["## How long it took", *map(markdown, costs(sections))]
    parts += ["## Where it was computed", f"```\n{_environment(runs, sections)}\n```"]
    return "\n\n".join(parts) + "\n"


NOT_BEGUN = (
    "Nothing of it has been computed in this run; its cells are named under “What could not be "
    "reproduced”."
)
QUICK = "A quick run: few sets, small grids. Its numbers say that it works, not how well."

KNOWN_GAPS = (
    "STL-10: 4,001 of the 5,000 labelled training images were at hand; 500 per class cannot be "
    "drawn.",
    "The paper does not state ξ, the dual step, τ of the pinball loss, the ceiling of the ramp "
    "loss, the parameters of the multi-view methods, of HOG and LBP, nor the treatment of missing "
    "values; the choices made here are in the registry of methods and data sets.",
    "NSV of the paper mixes sample sizes (690 for LS-SVM on australian is all samples, not a "
    "training fold), and Pin-SVM has fewer support vectors there than its model allows.",
)


def tables_as_csv(sections: list[Section], file: TextIO) -> None:
    """Write every place of every table: what was found, its deviation, the paper's, or a mark."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("experiment", *TABLE_HEAD))
    for section in sections:
        for table in (block for block in section.blocks if isinstance(block, Table)):
            writer.writerows([section.experiment.name, *line] for line in table_lines(table))


def gaps(sections: list[Section]) -> list[Block]:
    """Return what could not be reproduced: what is known, and every marked cell."""
    marked: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for section in sections:
        for cell in section.cells:
            if cell.status != DONE:
                method = METHODS.get(cell.task.method)
                label = method.label if method else cell.task.method
                marked[label, f"{cell.status}: {cell.reason}"][section.experiment.name] += 1
    lines = [
        f"{label}, {reason} ({', '.join(f'{name} {n}' for name, n in sorted(counts.items()))})"
        for (label, reason), counts in sorted(marked.items())
    ]
    blocks: list[Block] = [Words(KNOWN_GAPS)]
    if absent := [line for section in sections for line in never_run(section)]:
        # Experiments share cells.
        count = len({task for section in sections for task in section.missing})
        every = count + len({cell.task for section in sections for cell in section.cells})
        title = (
            f"{count:,} of {every:,} cells of this profile were never run, by name: the time at "
            "hand ended before their turn"
        )
        blocks.append(Words(tuple(absent), title))
    if lines:
        blocks += [
            Words(("Cells without a result, and how many in which experiment:",)),
            Words(tuple(lines)),
        ]
    return blocks


def never_run(section: Section) -> list[str]:
    """Return the cells of a section that are not there, by name: method, protocol, data."""
    folds: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for task in section.missing:
        method = METHODS.get(task.method)
        noise = "" if task.noise == CLEAN else f" with {task.noise}"
        name = f"{task.dataset.replace(':', ' ')}{noise}"
        place = folds[method.label if method else task.method, task.protocol]
        place[name] = place.get(name, 0) + 1
    return [
        f"{_heading(section.experiment)}: {method}, protocol {protocol}: "
        + ", ".join(f"{name} ({n} folds)" if n > 1 else name for name, n in names.items())
        for (method, protocol), names in folds.items()
    ]


def costs(sections: list[Section]) -> list[Block]:
    """Return the time and memory of each experiment."""
    rows = []
    for section in sections:
        # Cells that it shares with another experiment are counted there.
        cells = [c for c in section.cells if c.task.experiment == section.experiment.name]
        if not cells:
            continue
        seconds = sum(cell.seconds for cell in cells)
        longest = max(cell.seconds for cell in cells)
        peak = max((c.peak_mb for c in cells if c.peak_mb == c.peak_mb), default=0.0)
        values = (float(len(cells)), seconds / 60.0, longest / 60.0, peak)
        rows.append((section.experiment.name, [Entry(value) for value in values]))
    columns = ["cells", "process minutes", "longest cell (min)", "peak memory of a process (MB)"]
    note = "A cell runs in a process of its own, on one thread; several run at a time."
    return [Table("Cost", "experiment", columns, rows, better="", note=note, decimals=1)]


def _computed(sections: list[Section]) -> Computed:
    return {
        s.experiment.name: (len(s.cells), len(s.cells) + len(s.missing)) for s in sections
    }  # fmt: skip


def _overview(sections: list[Section]) -> list[Block]:
    return overview((_heading(section.experiment), section.blocks) for section in sections)


def _differences(sections: list[Section]) -> list[Block]:
    return differences((section.experiment, section.blocks) for section in sections)


def _prose(sections: list[Section]) -> list[str]:
    return sentences({section.experiment.name: section.blocks for section in sections})


def _opening_as_html(sections: list[Section]) -> str:
    lines = _prose(sections)
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ol class='opening'>{listed}</ol>" if lines else ""


def _heading(experiment: Experiment) -> str:
    return experiment.title[:1].upper() + experiment.title[1:]


def _environment(runs: dict[int, dict[str, str]], sections: list[Section]) -> str:
    """Return the machine and the versions of the runs that the results come from."""
    used = sorted({cell.run for section in sections for cell in section.cells})
    if not used:
        return "nothing was computed"
    # What is published with the results, so that the report can be made again from them.
    last = {name: runs[used[-1]].get(name, "") for name in CONTEXT}
    commits = sorted({runs[number].get("commit", "") for number in used})
    last["commit"] = ", ".join(commits)
    last["runs"] = str(len(used))
    width = max(map(len, last))
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in last.items())
    return text.replace("`", "'")


def _resource(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
