"""Stage `compose_trials`: items × arms → trials and frozen manifests (PROTOCOLS S1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ..arms.presentation import ImageMode, Levels, Presentation, SliceFacts
from ..arms.registry import ARMS
from ..config.arms import ArmsConfig
from ..config.base import Section
from ..config.prompt import Prompt, load_prompt, wording_problems
from ..config.question import QuestionConfig
from ..config.words import UNSURE
from ..contracts.enums import AnswerKind, ArmName, TransformName
from ..contracts.files import read_rows, read_table, write_table
from ..contracts.problems import CaseProblem, StudyError
from ..contracts.tables import CASES, EXCLUSIONS, IMAGES, ITEMS, LESION_SLICES, MANIFESTS, SLICES, TRIALS
from ..images.transforms import blank_parameters, box_parameters
from ..stages.job import ExclusionLog, Files, shard_of
from .draws import Draw, DrawPlan
from .messages import compose_messages, symbols_for
from .request import Request, check_changed, manifest_row, trial_id
from .views import CaseView, Exclusions, case_views, derived_images

Row = dict[str, Any]


class LabelsSettings(Section):
    """The cohort's labels."""

    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    """The diagnostic labels in canonical order."""


class DrawsSettings(Section):
    """How often requests are asked."""

    stochastic_draws: Annotated[int, Field(ge=2)]
    """Times each request is asked of a model that is not deterministic."""
    repeat_share: Annotated[float, Field(ge=0, le=1)]
    """Share of each arm's requests asked twice of every model."""


class ComposeTrialsSettings(Section):
    """What the stage sees of the configuration."""

    seed: int
    """Seed of every draw."""
    shards: Annotated[int, Field(ge=1)]
    """Number of shards the patients are spread over."""
    cohort: LabelsSettings
    """Labels."""
    question: QuestionConfig
    """What is asked."""
    arms: ArmsConfig
    """What is varied."""
    stochastic_models: tuple[str, ...]
    """Ids of the study's models that may answer the same request otherwise."""
    inference: DrawsSettings
    """How often requests are asked."""


def compose_trials(
    inputs: Files, outputs: Files, settings: ComposeTrialsSettings, wildcards: Mapping[str, str]
) -> None:
    """Present every item of the shard's usable cases under every enabled arm.

    Writes the trials, the manifests they were drawn from, and for each case and arm that do not fit
    the reason. Cases that an earlier stage left out get no trials.

    Raises
    ------
    StudyError
        If the tables contradict each other, the prompt or the configuration.
    """
    shard = int(wildcards["shard"])
    cases = [row for row in read_rows(inputs.all("cases"), CASES) if _shard(row, settings) == shard]
    exclusions = Exclusions.of(row for path in inputs.all("exclusions") for row in read_rows(path, EXCLUSIONS))
    views = case_views(
        cases,
        read_rows(inputs.all("slices"), SLICES),
        read_rows(inputs.all("lesion_slices"), LESION_SLICES),
        exclusions,
    )
    columns = ("image_id", "parent_id", "transform", "parameters")
    composer = Composer(
        settings=settings,
        prompt=load_prompt(inputs.one("prompt")),
        derived=derived_images(read_table(inputs.all("derived"), IMAGES, columns).to_pylist()),
        log=ExclusionLog("compose_trials"),
    )
    trials: list[Row] = []
    manifests: list[Row] = []
    for item in read_rows(inputs.all("item_table"), ITEMS):
        if item["case_id"] in views:
            found, drawn = composer.item(item, views[item["case_id"]])
            trials += found
            manifests += drawn
    write_table(outputs.one("trials"), TRIALS, trials)
    write_table(outputs.one("manifests"), MANIFESTS, manifests)
    write_table(outputs.one("exclusions"), EXCLUSIONS, composer.log.rows)


def _shard(case: Row, settings: ComposeTrialsSettings) -> int:
    return shard_of(case["patient_id"], settings.shards)


@dataclass
class Composer:
    """Composes the trials of one item after another; no item knows of another."""

    settings: ComposeTrialsSettings
    prompt: Prompt
    derived: Mapping[tuple[TransformName, str, str], str]
    log: ExclusionLog

    def __post_init__(self) -> None:
        if self.prompt.name != self.settings.question.prompt:
            raise StudyError(
                f"the prompt file is {self.prompt.name!r}, but question.prompt is {self.settings.question.prompt!r}"
            )
        arms = self.settings.arms
        problems = wording_problems(self.prompt, arms.enabled)
        if problems:
            raise StudyError("\n".join(problems))
        self._levels = Levels(arms.shuffles, arms.fractions, arms.positions, arms.margin)
        self._logged: set[tuple[str, ArmName]] = set()
        self._plan = DrawPlan(
            repeat=ArmName.REPEAT in arms.enabled,
            share=self.settings.inference.repeat_share,
            draws=self.settings.inference.stochastic_draws,
            stochastic=sorted(self.settings.stochastic_models),
        )

    def item(self, item: Row, view: CaseView) -> tuple[list[Row], list[Row]]:
        """Trials and manifests of one item under every enabled arm.

        Raises
        ------
        StudyError
            If the item does not ask what the configuration says.
        """
        self._check(item)
        facts = SliceFacts(
            sampled=tuple(view.image_of),
            lesion_flags=view.lesion_flags,
            lesion_slices_in_volume=view.lesion_slices_in_volume,
            options=tuple(item["options"]),
            seed_parts=(self.settings.seed, item["item_id"]),
            boxes=view.boxes,
            levels=self._levels,
        )
        [base] = self._requests(ArmName.BASE, facts, view)
        base_id = trial_id(item["item_id"], Draw(ArmName.BASE, 0), base)
        trials: list[Row] = []
        manifests: list[Row] = []
        for name in ArmName:
            if name not in self.settings.arms.enabled or name in view.excluded_arms:
                continue
            try:
                requests = self._requests(name, facts, view)
                check_changed(name, requests, base, view)
            except CaseProblem as problem:
                # Several items of a case share its slices: one row says it.
                if (view.case_id, name) not in self._logged:
                    self.log.add(view.case_id, problem, name)
                    self._logged.add((view.case_id, name))
                continue
            for request in requests:
                manifests.append(manifest_row(item["item_id"], name, request.presentation))
                # `repeat` is a draw of base and comes with it.
                if name is not ArmName.REPEAT:
                    trials += self._trials(item, name, request, view, base_id)
        return trials, manifests

    def _check(self, item: Row) -> None:
        if item["question"] != self.prompt.name:
            raise StudyError(f"an item asks {item['question']!r}, but question.prompt is {self.prompt.name!r}")
        labels = self.settings.cohort.labels
        expected = [*labels, UNSURE] if self.settings.question.unsure else [*labels]
        if item["answer_kind"] == AnswerKind.CHOICE.value and item["options"] != expected:
            raise StudyError(
                f"an item offers {item['options']}, expected {expected} (cohort.labels, question.unsure): "
                "the items belong to another configuration. Rerun register_cohort."
            )

    def _requests(self, name: ArmName, facts: SliceFacts, view: CaseView) -> list[Request]:
        return [self._request(presentation, facts, view) for presentation in ARMS[name].function(facts)]

    def _request(self, presentation: Presentation, facts: SliceFacts, view: CaseView) -> Request:
        mode = presentation.image_mode
        images = [view.image_of[index] for index in presentation.shown]
        if mode is ImageMode.BLANK:
            images = [self._derived(TransformName.BLANK, image_id, blank_parameters()) for image_id in images]
        elif mode is ImageMode.CROPS:
            cut = zip(images, presentation.boxes or (), strict=True)
            images = [self._derived(TransformName.CROP, image_id, box_parameters(box)) for image_id, box in cut]
        options = [facts.options[place] for place in presentation.option_order]
        messages = compose_messages(
            self.prompt,
            images,
            options,
            blind=mode in (ImageMode.NONE, ImageMode.MENTION),
            numbered=presentation.numbered,
            mention=mode is ImageMode.MENTION,
        )
        return Request(presentation, images, options, messages)

    def _derived(self, transform: TransformName, image_id: str, parameters: str) -> str:
        try:
            return self.derived[transform, image_id, parameters]
        except KeyError:
            raise StudyError(
                f"image {image_id} has no {transform.value} image: the derived images belong to other slices or arms. "
                "Rerun perturb_images."
            ) from None

    def _trials(self, item: Row, name: ArmName, request: Request, view: CaseView, base_id: str) -> Iterator[Row]:
        shown = request.presentation
        strata = dict(view.strata)
        if shown.runs_matched is not None:
            strata["runs_matched"] = str(shown.runs_matched).lower()
        first = Draw(name, 0)
        first_id = trial_id(item["item_id"], first, request)
        seed_parts = (self.settings.seed, item["item_id"])
        for draw in (first, *self._plan.of(name, shown.variant, shown.replicate, seed_parts)):
            yield {
                "trial_id": trial_id(item["item_id"], draw, request),
                "item_id": item["item_id"],
                "case_id": item["case_id"],
                "cluster_id": item["cluster_id"],
                "arm": draw.arm.value,
                "variant": shown.variant,
                "replicate": shown.replicate,
                "draw": draw.number,
                "reference_trial_id": None if draw.arm is ArmName.BASE else base_id,
                "parent_trial_id": None if draw.number == 0 else first_id,
                "model_id": draw.model_id,
                "round": 1,
                "images": request.images,
                "messages": request.messages,
                "options": request.options,
                "symbols": symbols_for(len(request.options)),
                "cue": None,
                "chain_step": None,
                "strata": strata,
            }
