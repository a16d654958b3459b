"""How figures look and how they are saved: the same bytes for the same numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "p", "h")
INK, SOFT, PALE, GRID = "#1a1a1a", "#666666", "#f1f1ee", "#dddddd"
BASELINE = "#9a9a9a"
"""Colour of readers with known answers."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "steadyread",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.6,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """The look of all figures; nothing of it leaks out, nothing of the user's own style leaks in."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(sns.axes_style("white"))
        mpl.rcParams.update(_STYLE)
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of a size in inches, bound to no window and no global state."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def looks(names: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """A colour (safe for the colour-blind) and a marker for each name; markers tell them apart in grey."""
    colours = sns.color_palette("colorblind", 10)
    pairs = zip(cycle(colours), cycle(MARKERS), strict=False)
    return dict(zip(names, islice(pairs, len(names)), strict=True))


def plain_axes(axes: Any, across: str, up: str) -> None:
    """Axes with names, a pale grid and two sides."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(True, color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(bottom=True, left=True, length=3, width=0.6)


def say(text: str, width: float = 6.9) -> Figure:
    """A figure that says why there is nothing to draw."""
    figure = new_figure(width, 0.7)
    figure.text(0.5, 0.5, text, ha="center", va="center", color=SOFT, wrap=True)
    return figure


def model_handle(name: str, look: tuple[Any, str]) -> Line2D:
    """What a model looks like, for a legend."""
    colour, marker = look
    return Line2D(
        [], [], color=colour, linewidth=1.2, marker=marker, markersize=4.5, markeredgecolor=INK, markeredgewidth=0.5,
        label=name,
    )  # fmt: skip


def write_data(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """What a figure draws, as CSV."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def save(figure: Figure, pdf: Path, svg: Path, png: Path, dpi: int) -> None:
    """Save as PDF, SVG (text stays text) and PNG, without times.

    Must run within `figure_style`: the salt of the SVG's identifiers comes from there.
    """
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=dpi)
