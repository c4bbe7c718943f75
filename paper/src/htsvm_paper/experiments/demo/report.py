"""The report of the demonstration: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from importlib import resources
from string import Template
from typing import TextIO

from htsvm_paper.experiments.demo.data import (
    DIGITS_TRAIN,
    INCOME_TRAIN,
    TEST_PER_CLASS,
    TRAIN_PER_CLASS,
)
from htsvm_paper.experiments.demo.experiment import Results
from htsvm_paper.experiments.demo.summary import (
    complaints_in_words,
    gain_in_words,
    means_in_words,
    panels,
    wins_in_words,
)
from htsvm_paper.experiments.demo.table import html_table

from htsvm._show_versions import versions
from htsvm_paper.experiments.demo import figures


def write_report(results: Results, file: TextIO) -> None:
    """Write the report of a finished experiment."""
    settings = results.settings
    shown = panels(results)
    single = figures.fit_for_convergence(settings.seed)
    boundaries = figures.fits_for_boundaries(settings.seed)
    text = Template(_resource("report.html")).substitute(
        style=_resource("report.css"),
        finding="\n".join(
            f"<p>{escape(text)}</p>"
            for text in (gain_in_words(shown), means_in_words(shown), wins_in_words(shown))
        ),
        repetitions=settings.repetitions,
        accuracy=_framed([figures.accuracy_figure(panel) for panel in shown]),
        tables="\n".join(html_table(panel) for panel in shown),
        boundaries=_framed([figures.boundary_figure(fit) for fit in boundaries]),
        moons=_framed([figures.moons_figure(fit) for fit in figures.fits_to_moons(settings.seed)]),
        losses=figures.losses_figure(),
        convergence=figures.convergence_figure(single),
        certificate=escape(str(single.model.certificate_[0])),
        shown_rate=f"{figures.SHOWN_RATE:.0%}",
        gaussian_train=2 * TRAIN_PER_CLASS,
        gaussian_test=2 * TEST_PER_CLASS,
        income_train=f"{INCOME_TRAIN:,}",
        digits_train=DIGITS_TRAIN,
        penalties="{" + ", ".join(_fraction(C) for C in settings.penalties) + "}",
        folds=settings.folds,
        seed=settings.seed,
        complaints=escape(complaints_in_words(results)),
        versions=escape("\n".join(f"{name:<14}{value}" for name, value in versions().items())),
    )
    file.write(text)


def _framed(pictures: list[str]) -> str:
    return "\n".join(f"<figure>{picture}</figure>" for picture in pictures)


def _fraction(C: float) -> str:
    return f"{C:g}" if C >= 1.0 else f"1/{1.0 / C:g}"


def _resource(name: str) -> str:
    return (
        resources.files("htsvm_paper.experiments.demo").joinpath(name).read_text(encoding="utf-8")
    )
