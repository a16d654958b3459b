"""How figures look and how they are saved: the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "p", "h")
INK, SOFT, PALE = "#1a1a1a", "#666666", "#f1f1ee"

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


def save(figure: Figure, pdf: Path, svg: Path, png: Path, dpi: int) -> None:
    """Save as PDF, SVG (text stays text) and PNG, without times.

    Must run within `figure_style`: the salt of the SVG's identifiers comes from there.
    """
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=dpi)
