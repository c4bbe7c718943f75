"""Drawings as SVG that take their ink from the page around them; needs matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Stands for the colour of the page's text, so that one SVG serves light, dark and paper.
INK = "#123456"
STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.alpha": 0.15,
    "grid.color": INK,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "htsvm",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
WIDTH = 5.4


@contextmanager
def drawing(
    height: float, *, width: float = WIDTH, **layout: Any
) -> Iterator[tuple[Any, Callable[[str], str]]]:
    """Yield axes to draw on and a function that returns the finished SVG, given a description.

    Parameters
    ----------
    height, width : float
        In inches; the page scales the drawing.
    **layout : dict
        For `Figure.subplots`, where there is more than one panel.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")

        def finish(description: str) -> str:
            with mpl.rc_context(STYLE):
                return _as_svg(figure, description)

        yield figure.subplots(**layout), finish


def _as_svg(figure: Figure, description: str) -> str:
    """Return a figure as an SVG element for a page, with ids that no other figure on it has."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    prefix = "f" + re.sub(r"\W+", "-", description.lower())
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href="|url\()#', rf"\1#{prefix}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # The page decides on the size; the viewBox keeps the proportions.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return svg.replace(INK, "currentColor")
