"""Drawings of the report: SVG that takes its ink from the page around it."""

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.ndimage import median_filter

from htsvm_paper.experiments.blocks import Picture, Table

# Stands for the colour of the page's text, so that one SVG serves light, dark and paper.
INK = "#123456"
INKED = ("axes.edgecolor", "axes.labelcolor", "grid.color", "legend.labelcolor", "text.color",
         "xtick.color", "ytick.color")  # fmt: skip
STYLE: dict[Any, Any] = {
    **dict.fromkeys(INKED, INK),
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlesize": 11,
    "axes.titlelocation": "left", "font.family": "sans-serif", "font.size": 10, "grid.alpha": 0.15,
    "legend.fontsize": 9, "svg.fonttype": "none", "svg.hashsalt": "htsvm",
}  # fmt: skip
WIDTH = 5.4

COLOURS = ("#0072b2", "#009e73", "#cc79a7", "#8c8c8c", "#56b4e9", "#e69f00", "#7b61b8", "#444444")
MARKERS = "s^Dv<>pX"
# The method that all of this is about stands out.
OURS = {"color": "#d55e00", "marker": "o", "lw": 2.4, "zorder": 5}
CHOSEN = ("L_ht-SVM", "MvL_ht-SVM")
SMOOTHING = 9
LEVELS = (2.0**-4, 1.0, 2.0**4)


@contextmanager
def drawing(
    height: float, *, width: float = WIDTH, **layout: Any
) -> Iterator[tuple[Any, Callable[[str], str]]]:
    """Yield axes to draw on and a function that returns the finished SVG, given a description.

    Height and width are in inches, the page scales the drawing; `layout` is for several panels.
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
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
    return svg.replace(INK, "currentColor")


def _look(i: int, label: str) -> dict[str, Any]:
    if label in CHOSEN:
        return OURS
    return {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "lw": 1.3}


def legend_below(ax: Any, columns: int) -> None:
    """Put the legend of a panel below all of them, where it covers nothing."""
    handles, labels = ax.get_legend_handles_labels()
    ax.figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=columns)


def noise_curves(table: Table, rates: Sequence[float], name: str) -> list[Picture]:
    """Return accuracy against the share of wrong labels, or nothing without numbers."""
    values = table.values
    if np.isnan(values).all():
        return []
    with drawing(3.8) as (ax, finish):
        for i, label in enumerate(table.columns):
            if not np.isnan(values[:, i]).all():
                ax.plot(100 * np.array(rates), values[:, i], label=label, ms=5, **_look(i, label))
        ax.set(xlabel="wrong labels (%)", ylabel="accuracy on clean labels (%)")
        ax.grid(axis="y")
        legend_below(ax, 2)
    return [Picture(finish(f"Accuracy under label noise: {name}"), name)]


def bars(table: Table, name: str) -> list[Picture]:
    """Return bars by row and column, or nothing without numbers."""
    values = table.values
    if np.isnan(values).all():
        return []
    width = 0.8 / len(table.columns)
    places = np.arange(len(table.rows))
    with drawing(3.4, width=8.0) as (ax, finish):
        for i, label in enumerate(table.columns):
            look = _look(i, label)
            ax.bar(places + i * width, values[:, i], width, color=look["color"], label=label)
        ax.set_xticks(places + 0.4 - width / 2, [str(i + 1) for i in places])
        low = np.nanmin(values)
        ax.set(xlabel="pair", ylabel="accuracy (%)", ylim=(max(0.0, low - 8.0), 100.0))
        legend_below(ax, 3)
    return [Picture(finish(name), f"{name}; pairs in the order of the table.")]


def heat_maps(
    points: list[tuple[dict[str, Any], float]], symbols: Mapping[str, str], *,
    only: Sequence[str] = (), caption: str = "",
) -> list[Picture]:  # fmt: skip
    """Return, for each parameter, maps over the two others with it held at three levels."""
    pictures = []
    low, high = (100 * f(value for _, value in points) for f in (min, max))
    for fixed in only or symbols:
        x, y = (name for name in symbols if name != fixed)
        known = sorted({params[fixed] for params, _ in points})
        levels = [level for level in LEVELS if level in known] or known
        with drawing(2.9, width=8.0, ncols=len(levels), squeeze=False) as (axes, finish):
            for ax, level in zip(axes[0], levels, strict=True):
                grid = _grid([p for p in points if p[0][fixed] == level], x, y)
                xs, ys, values = grid
                image = ax.imshow(values, origin="lower", vmin=low, vmax=high, cmap="viridis")
                ax.set_xticks(range(len(xs)), [_power(v) for v in xs])
                ax.set_yticks(range(len(ys)), [_power(v) for v in ys])
                ax.set(title=f"{symbols[fixed]} = {_power(level)}", xlabel=symbols[x])
            axes[0][0].set_ylabel(symbols[y])
            axes[0][0].figure.colorbar(image, ax=list(axes[0]), label="accuracy (%)", shrink=0.8)
        words = caption or f"Parameter sensitivity on Heart, {symbols[fixed]} held fixed."
        pictures.append(Picture(finish(words), words))
    return pictures


def penalty_maps(points: list[tuple[dict[str, Any], float]]) -> list[Picture]:
    """Return maps over C and η for each level of ξ, with α in the middle (figure 8)."""
    values = sorted({params["weight_smoothness"] for params, _ in points})
    middle = values[len(values) // 2]
    some = [
        ({k: v for k, v in params.items() if k != "weight_smoothness"}, value)
        for params, value in points
        if params["weight_smoothness"] == middle
    ]
    symbols = {"xi": "ξ", "C": "C", "structure": "η (structure)"}
    caption = f"Figure 8: accuracy of Algorithm 2 on Heart, ξ held fixed, α = {middle:g}."
    return heat_maps(some, symbols, only=("xi",), caption=caption)


def _grid(points: list[tuple[dict[str, Any], float]], x: str, y: str) -> tuple[Any, Any, Any]:
    xs = sorted({params[x] for params, _ in points})
    ys = sorted({params[y] for params, _ in points})
    values = np.full((len(ys), len(xs)), np.nan)
    for params, value in points:
        values[ys.index(params[y]), xs.index(params[x])] = 100 * value
    return xs, ys, values


def _power(value: float) -> str:
    exponent = math.log2(value)
    return f"$2^{{{exponent:g}}}$" if exponent == int(exponent) else f"{value:g}"


def convergence_panels(traces: Mapping[str, list[dict[str, float]]], name: str) -> list[Picture]:
    """Return residual, working set, training accuracy and seconds against the iteration."""
    panels = {
        "residual": "(a) residual",
        "active": "(b) share of samples in the working set",
        "train_accuracy": "(c) training accuracy",
        "seconds": f"(d) seconds per iteration, median of {SMOOTHING}",
    }
    with drawing(6.0, width=8.0, nrows=2, ncols=2, sharex=True) as (axes, finish):
        for ax, (metric, title) in zip(axes.flat, panels.items(), strict=True):
            for i, (solver, rows) in enumerate(traces.items()):
                values = [row[metric] for row in rows if metric in row]
                if metric == "seconds":
                    # Other work of the machine shows in single iterations.
                    values = list(median_filter(values, SMOOTHING, mode="nearest"))
                if values:
                    steps = np.arange(1, len(values) + 1)
                    ax.plot(steps, values, color=COLOURS[i], lw=1.4, label=solver)
            ax.set(title=title, xscale="log")
            if metric == "residual":
                ax.set_ylim(bottom=1e-5)
            if metric in ("residual", "seconds"):
                ax.set_yscale("log")
            ax.grid()
        for ax in axes[-1]:
            ax.set_xlabel("iteration")
        legend_below(axes[0][0], 2)
    caption = f"Figure 3: algorithms on {name}, C = 1, by iteration (at most 300 are drawn)."
    return [Picture(finish(f"Convergence on {name}"), caption)]
