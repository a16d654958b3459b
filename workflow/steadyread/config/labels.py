"""Whether a set of labels can be told apart in an answer, asked before a study starts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase

from .words import UNSURE

_BREAK = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def folded(name: str) -> str:
    """A name as answers are compared with it: case, width, and the kind of white space or hyphen do not count."""
    return " ".join(re.split(r"[\s-]+", unicodedata.normalize("NFKC", name).casefold().strip()))


def label_collisions(labels: Sequence[str], synonyms: Mapping[str, Sequence[str]], *, unsure: bool = True) -> list[str]:
    """What is wrong with the labels of a study, a sentence each; empty where nothing is.

    Parameters
    ----------
    labels
        The labels of the cohort, without UNSURE.
    synonyms
        Other words for a label or for UNSURE, as the prompt lists them; entries for labels that are
        not in `labels` are ignored, as the parser ignores them.
    unsure
        Whether UNSURE is offered and takes a symbol. It may be said in any case, so that no label may
        be named like it.
    """
    return [*_shapes(labels), *_names(labels, synonyms), *_count(labels, unsure)]


def _shapes(labels: Sequence[str]) -> Iterator[str]:
    for label in labels:
        if not label.strip():
            yield f"label {label!r} is empty: give it a name"
        elif _BREAK.search(label):
            yield f"label {label!r} has a line break or a tab: the options stand a line each, so write it in one"
        elif len(folded(label)) == 1 and folded(label).upper() in ascii_uppercase:
            yield f"label {label!r} is a single letter and reads like the symbol of an option: write it out"


def _names(labels: Sequence[str], synonyms: Mapping[str, Sequence[str]]) -> Iterator[str]:
    taken: dict[str, str] = {}
    for label in labels:
        name = folded(label)
        if name == folded(UNSURE):
            yield f"label {label!r} is the name of the abstain option: name it otherwise"
        elif name in taken:
            yield f"labels {taken[name]!r} and {label!r} are read as the same: keep one spelling"
        taken.setdefault(name, label)
    for key, others in synonyms.items():
        meant = UNSURE if folded(key) == folded(UNSURE) else taken.get(folded(key))
        for other in others if meant is not None else ():
            clash = taken.get(folded(other))
            if clash is not None and folded(clash) not in (folded(str(meant)), ""):
                yield (
                    f"label {clash!r} is also listed as a synonym of {meant!r}, so that an answer {other!r} would "
                    "stand for neither: take it out of the prompt's synonyms, or name the label otherwise"
                )


def _count(labels: Sequence[str], unsure: bool) -> Iterator[str]:
    most = len(ascii_uppercase) - int(unsure)
    if len(labels) > most:
        kept = " (one letter is UNSURE's)" if unsure else ""
        yield f"{len(labels)} labels, but only {most} have a letter{kept}: offer fewer"
