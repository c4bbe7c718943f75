"""The report: one HTML page that needs nothing else, and the same in Markdown."""

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from string import Template
from typing import TextIO

import numpy as np

from htsvm_paper.experiments.blocks import Block, Entry, Table, Words, about, said
from htsvm_paper.experiments.differences import differences, sentences
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import METHODS, NESTED, PAPER, get
from htsvm_paper.experiments.paper_pages import Computed, verdicts
from htsvm_paper.experiments.render import TABLE_HEAD, html, markdown, table_lines
from htsvm_paper.experiments.results import CONTEXT, Results
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tables import IN_WORDS, MEAN, RANK
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Task

OURS = ("mvht", "ht")
METRICS = ("accuracy", "clean_accuracy")


@dataclass(frozen=True)
class Section:
    """One experiment: what it shows, the cells that it is made of, and those never run."""

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
        blocks: list[Block] = [about("report-not_begun")]
        if found or not tasks:
            blocks = experiment.sections(Results(found, tasks), profile)
        missing = [task for task in tasks if task not in stored]
        sections.append(Section(experiment, blocks, found, missing))
    return sections


def as_html(
    sections: list[Section], runs: dict[int, dict[str, str]], profile: Profile, **other: str
) -> str:
    """Return the page; `other` takes the place of its title, lead or opening."""
    short = ["short", "Paper against ours", html_of(_short(sections))]
    parts = [["claims", "The paper's claims, and what became of them",
              html_of(verdicts(_computed(sections)))], short]  # fmt: skip
    if other:
        parts = []
    for section in sections:
        shows = f" <small>{escape(section.experiment.shows)}</small>"
        heading = escape(_heading(section.experiment)) + shows
        parts.append([section.experiment.name, heading, html_of(section.blocks)])
    where = f"<pre>{escape(_environment(runs, sections))}</pre>"
    parts += [
        ["gaps", "What could not be reproduced, and why", html_of(gaps(sections))],
        ["costs", "How long it took", html_of(costs(sections)) + where],
    ]
    lines = "".join(f"<li>{escape(line)}</li>" for line in _opening(sections))
    page = {
        "title": escape(_line("title")),
        "about": escape(_line("about")),
        "opening": f"<ol class='opening'>{lines}</ol>" if lines else "",
        **other,
    }
    return Template(_resource("report.html")).substitute(
        page,
        style=_resource("report.css"),
        quick=f"<p><strong>{escape(_line('quick'))}</strong></p>" if profile.quick else "",
        contents="".join(f"<li><a href='#{name}'>{heading}</a></li>" for name, heading, _ in parts),
        sections="".join(
            f"<section id='{name}'><h2>{heading}</h2>{text}</section>\n"
            for name, heading, text in parts
        ),
    )


def html_of(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML."""
    return "".join(map(html, blocks))


def as_markdown(sections: list[Section], runs: dict[int, dict[str, str]], profile: Profile) -> str:
    """Return the report as Markdown."""
    parts = [f"# {_line('title')}", _line("about")]
    if profile.quick:
        parts.append(f"**{_line('quick')}**")
    if lines := _opening(sections):
        parts += ["## In short", markdown(Words(tuple(lines)))]
    parts += ["## The paper's claims", *map(markdown, verdicts(_computed(sections)))]
    parts += ["## Paper against ours", *map(markdown, _short(sections))]
    for section in sections:
        parts.append(f"## {section.experiment.heading}")
        parts += map(markdown, section.blocks)
    parts += ["## What could not be reproduced", *map(markdown, gaps(sections))]
    parts += ["## How long it took", *map(markdown, costs(sections))]
    parts += ["## Where it was computed", f"```\n{_environment(runs, sections)}\n```"]
    return "\n\n".join(parts) + "\n"


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
                reason = f"{cell.status}: {cell.reason}"
                marked[_label(cell.task), reason][section.experiment.name] += 1
    blocks: list[Block] = [about("report-known_gaps")]
    if absent := [line for section in sections for line in never_run(section)]:
        # Experiments share cells.
        count = len({task for section in sections for task in section.missing})
        every = count + len({cell.task for section in sections for cell in section.cells})
        title = (
            f"{count:,} of {every:,} cells of this profile were never run, by name: the time at "
            "hand ended before their turn"
        )
        blocks.append(Words(tuple(absent), title))
    if marked:
        blocks.append(said("Cells without a result, and how many in which experiment:"))
        blocks.append(said(*(
            f"{label}, {reason} ({', '.join(f'{name} {n}' for name, n in sorted(counts.items()))})"
            for (label, reason), counts in sorted(marked.items())
        )))  # fmt: skip
    return blocks


def _label(task: Task) -> str:
    return METHODS[task.method].label if task.method in METHODS else task.method


def never_run(section: Section) -> list[str]:
    """Return the cells of a section that are not there, by name: method, protocol, data."""
    folds: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for task in section.missing:
        noise = "" if task.noise == CLEAN else f" with {task.noise}"
        name = f"{task.dataset.replace(':', ' ')}{noise}"
        place = folds[_label(task), task.protocol]
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


def _short(sections: list[Section]) -> list[Block]:
    """Return where the paper's method stands, and where its numbers differ from ours."""
    return [*overview(sections), *differences([(s.experiment, s.blocks) for s in sections])]


def _opening(sections: list[Section]) -> list[str]:
    return sentences({section.experiment.name: section.blocks for section in sections})


def overview(sections: list[Section]) -> list[Block]:
    """Return where the paper's method stands: a table per protocol, a row for each comparison."""
    found = [
        (_heading(section.experiment), block)
        for section in sections
        for block in section.blocks
        if isinstance(block, Table) and block.metric in METRICS and block.summary
    ]
    tables: list[Block] = []
    for protocol in (PAPER, NESTED):
        standings = [
            standing
            for name, table in found
            if table.protocol == protocol and (standing := _standing(name, table)) is not None
        ]
        if standings:
            title = f"Accuracy of L_ht-SVM and MvL_ht-SVM: {IN_WORDS[protocol]}"
            columns = ["mean (%)", "rank", "mean of the best (%)", "its rank"]
            tables.append(
                Table(title, "comparison", columns, standings, better="", note=_line("note"))
            )
    return tables


def _standing(experiment: str, table: Table) -> tuple[str, list[Entry]] | None:
    """Return mean and rank of the paper's method beside the best; None where it has no rank."""
    summary = {label: entries for label, entries, _ in table.summary}
    means, ranks = summary[MEAN], summary[RANK]
    ours = next((get(n).label for n in OURS if get(n).label in table.columns), None)
    if ours is None or math.isnan(ranks[place := table.columns.index(ours)].value):
        return None
    values = np.array([entry.value for entry in ranks])
    best = int(np.nanargmin(values))
    subject = table.title.removesuffix(f": {IN_WORDS[table.protocol]}")
    subject = subject.replace("Accuracy", "").replace("(%)", "").strip(" ,").replace(" , ", ", ")
    label = ": ".join(part for part in (experiment, subject) if part)
    count = np.count_nonzero(~np.isnan(values))
    best_of_all = [Entry(means[best].value), Entry(ranks[best].value)]
    return f"{label} (best of {count}: {table.columns[best]})", [
        means[place], ranks[place], *best_of_all
    ]  # fmt: skip


def _line(name: str) -> str:
    return about(f"report-{name}").lines[0]


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


def _resource(name: str) -> str:
    return resources.files("htsvm_paper.experiments").joinpath(name).read_text(encoding="utf-8")
