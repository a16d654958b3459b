"""The main table in LaTeX: booktabs rules, longtable so that it breaks over pages.

To be read with \\input; an estimate takes two lines, value (n) above its interval or status, so
that six estimates fit beside each other.
"""

from __future__ import annotations

from .format import ABSENT, Row, interval_text, status_text, value_text
from .panels import Line, Panel

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "[": "{[}",
        "]": "{]}",
        "−": "$-$",
        "–": "--",
        "Δ": r"$\Delta$",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "|": r"\textbar{}",
        "…": r"\ldots{}",
        "½": r"$\tfrac{1}{2}$",
        "κ": r"$\kappa$",
        "Φ": r"$\Phi$",
        "∞": r"$\infty$",
    }
)


def latex_escape(text: str) -> str:
    """Text as LaTeX prints it; brackets are guarded, since a row may start with one."""
    return text.translate(_ESCAPES)


def latex_document(title: str, panels: list[Panel], notes: list[str], banner: str | None = None) -> str:
    """All panels and notes, ready for \\input; the banner stands above everything."""
    parts = [r"% needs \usepackage{booktabs,longtable,array}", r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}"]
    if banner:
        parts.append(rf"\noindent\textbf{{{latex_escape(banner)}}}\par")
    for number, panel in enumerate(panels):
        letter = chr(ord("A") + number)
        parts.append(rf"\noindent\textbf{{{letter}. {latex_escape(f'{title}: {panel.title}')}}}\par")
        parts.append(_panel(panel))
    if not panels:
        parts.append(r"\noindent There are no estimates.\par")
    parts += [rf"\noindent {latex_escape(note)}\par" for note in notes]
    parts.append(r"\endgroup")
    return "\n".join(parts) + "\n"


def _panel(panel: Panel) -> str:
    # The model heads its own group of rows: one column less.
    header = panel.header[1:]
    if panel.contrasts:
        words, last = (0.42, r">{\raggedright\arraybackslash}p{0.24\linewidth}") if panel.claims else (0.5, "r")
        columns = rf">{{\raggedright\arraybackslash}}p{{{words}\linewidth}}{'r' * (len(header) - 2)}{last}"
    else:
        width = rf">{{\raggedleft\arraybackslash}}p{{{0.79 / (len(header) - 1):.3f}\linewidth}}"
        columns = r">{\raggedright\arraybackslash}p{0.15\linewidth}" + width * (len(header) - 1)
    head = " & ".join(latex_escape(text) for text in header) + r" \\"
    lines = [rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}", r"\toprule", head, r"\midrule", r"\endhead"]
    lines += [r"\bottomrule", r"\endfoot"]
    model = None
    for line in panel.lines:
        if line.model != model:
            lines += [] if model is None else [r"\addlinespace"]
            lines.append(rf"\multicolumn{{{len(header)}}}{{@{{}}l}}{{\textbf{{{latex_escape(line.model)}}}}} \\*")
            model = line.model
        lines += _rows(line, panel)
    lines.append(r"\end{longtable}")
    return "\n".join(lines)


def _rows(line: Line, panel: Panel) -> list[str]:
    cells = [_upper(row, place in panel.mixed) for place, row in enumerate(line.cells)]
    upper = [line.title, *cells, *line.extras]
    lower = ["", *[_lower(row) for row in line.cells], *[""] * len(line.extras)]
    return [
        " & ".join(latex_escape(text) for text in upper) + r" \\*",
        " & ".join(latex_escape(text) for text in lower) + r" \\",
    ]


def _upper(row: Row | None, with_mark: bool) -> str:
    return ABSENT if row is None else f"{value_text(row)} ({row['n']})" + (f" {row['mark']}" if with_mark else "")


def _lower(row: Row | None) -> str:
    return "" if row is None else " ".join(part for part in (interval_text(row), status_text(row)) if part)
