"""Items × arms: which requests are made, what they say, and that nothing depends on how work is cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyread.config.models_table import ModelsTable
from steadyread.config.prompt import load_prompt
from steadyread.config.study import StudyConfig
from steadyread.contracts.enums import LESION_ARMS, ArmName
from steadyread.contracts.problems import StudyError
from steadyread.identity.digests import digest_json
from steadyread.stages.job import ExclusionLog
from steadyread.stages.settings import settings_of
from steadyread.trials.compose import Composer, ComposeTrialsSettings
from steadyread.trials.gate import CheckCohortSettings
from steadyread.trials.views import CaseView

# Three options are cycled twice.
ARMS_OF_A_GOOD_CASE = {arm.value: 2 if arm is ArmName.LABEL_CYCLE else 1 for arm in ArmName}
DRAWN = ("matched_removed", "shuffle", "remove_fraction")
LESION = {arm.value for arm in LESION_ARMS}
Compose = Callable[..., Any]


def image_of(case: Any, index: int) -> str:
    """The image id of a slice, as the cohort of these tests has it."""
    return digest_json(["image", case.twin or case.case_id, index])


def crop_of(image_id: str, box: tuple[float, ...]) -> str:
    """The image id of a crop, as the cohort of these tests has it."""
    return digest_json(["crop", image_id, list(box)])


def texts(trial: dict[str, Any]) -> list[str]:
    return [part["text"] for message in trial["messages"] for part in message["content"] if part["type"] == "text"]


def some_cases(make_case: Any, count: int = 6) -> list[Any]:
    return [make_case(f"c{i}", f"p{i // 2}", slices=7 + i, lesion=(2, 3, 5)) for i in range(count)]


# --- what is asked -----------------------------------------------------------------------------


def test_a_good_case_is_asked_once_under_every_arm(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")])
    assert Counter(row["arm"] for row in found.trials) == ARMS_OF_A_GOOD_CASE
    assert found.exclusions == []
    assert {row["arm"] for row in found.manifests} == set(ARMS_OF_A_GOOD_CASE)


def test_only_enabled_arms_are_asked(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")], arms={"enabled": ["base", "no_image"]})
    assert {row["arm"] for row in found.trials} == {"base", "no_image"}


def test_repeat_is_base_asked_again(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")])
    [base], [repeat] = found.of("base"), found.of("repeat", 1)
    assert repeat["parent_trial_id"] == repeat["reference_trial_id"] == base["trial_id"]
    same = ("messages", "images", "options", "symbols", "strata", "variant", "replicate", "item_id")
    assert {key: repeat[key] for key in same} == {key: base[key] for key in same}
    assert found.of("repeat", 0) == []


def test_every_trial_but_base_is_compared_with_base_of_its_item(compose: Compose, make_case: Any) -> None:
    found = compose(some_cases(make_case))
    base = {row["item_id"]: row["trial_id"] for row in found.of("base")}
    for row in found.trials:
        assert row["reference_trial_id"] == (None if row["arm"] == "base" else base[row["item_id"]])


def test_reverse_shows_the_images_of_base_backwards_in_the_same_words(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1", unsampled=(0, 6))])
    [base], [reverse] = found.of("base"), found.of("reverse")
    assert len(base["images"]) == 7
    assert reverse["images"] == base["images"][::-1]
    assert texts(reverse) == texts(base)


def test_label_swap_shows_the_images_of_base_and_other_letters(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")])
    [base], [swap] = found.of("base"), found.of("label_swap")
    assert swap["images"] == base["images"]
    assert (base["options"], swap["options"]) == (["GBM", "MET", "UNSURE"], ["MET", "GBM", "UNSURE"])
    assert base["symbols"] == swap["symbols"] == ["A", "B", "C"]
    assert "A. MET\nB. GBM\nC. UNSURE" in texts(swap)[-1]


def test_three_labels_are_shifted_twice(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1", label="b")], cohort={"labels": ["a", "b", "c"]})
    assert {row["variant"]: row["options"] for row in found.of("label_swap")} == {
        "shift1": ["b", "c", "a", "UNSURE"],
        "shift2": ["c", "a", "b", "UNSURE"],
    }


def test_without_unsure_only_labels_are_offered(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")], question={"prompt": "diagnose_brain_mri", "unsure": False})
    assert {tuple(row["options"]) for row in found.trials} == {("GBM", "MET"), ("MET", "GBM")}
    assert reasons(found) == {("c1", "abstain_first"): "no_change"}


def test_lesion_removal_and_its_control_show_equally_many_images(compose: Compose, make_case: Any) -> None:
    found = compose(some_cases(make_case))
    for case_id in {row["case_id"] for row in found.trials}:
        [base] = found.of("base", case_id=case_id)
        [removed] = found.of("lesion_removed", case_id=case_id)
        [control] = found.of("matched_removed", case_id=case_id)
        assert len(removed["images"]) == len(control["images"]) == len(base["images"]) - 3
        lesion_images = set(base["images"]) - set(removed["images"])
        assert lesion_images <= set(control["images"])


def test_blank_images_stand_where_the_slices_stood(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")])
    [base], [blank] = found.of("base"), found.of("blank_image")
    assert len(blank["images"]) == len(base["images"])
    assert not set(blank["images"]) & set(base["images"])
    assert texts(blank) == texts(base)


# --- words -------------------------------------------------------------------------------------


def test_without_images_neither_images_nor_mri_are_mentioned(compose: Compose, make_case: Any) -> None:
    [row] = compose([make_case("c1", "p1")]).of("no_image")
    said = " ".join(texts(row)).lower()
    assert row["images"] == []
    assert not re.search(r"image|mri|scan|slice|picture|brain|shown|see", said)
    assert "GBM" in texts(row)[0]


def test_no_message_says_in_which_order_slices_stand(compose: Compose, make_case: Any) -> None:
    order = re.compile(
        r"\b(order\w*|first|last|next|then|second|revers\w*|shuffl\w*|sequen\w*|consecutive|adjacent|top|bottom"
        r"|inferior|superior|feet|head|caudal|cranial|from|to|ascending|descending|removed|missing|index|number\w*)\b",
        re.IGNORECASE,
    )
    for row in compose([make_case("c1", "p1")]).trials:
        assert not order.findall(" ".join(texts(row)))


def test_a_mere_mention_differs_from_no_image_in_the_mention_alone(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1")])
    [none], [mention] = found.of("no_image"), found.of("mention_only")
    assert mention["images"] == []
    [said], [silent] = texts(mention), texts(none)
    assert "MRI" in said.splitlines()[0]
    assert said.splitlines()[1:] == silent.splitlines()[1:]


def test_numbers_count_the_shown_position_and_the_images_are_those_of_base(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1", unsampled=(0, 1))])
    [base], [numbered] = found.of("base"), found.of("numbered")
    assert numbered["images"] == base["images"]
    assert texts(numbered) == [texts(base)[0], *(f"Slice {number}:" for number in range(1, 8)), texts(base)[1]]


def test_crops_stand_for_the_lesion_slices_once_for_every_box(compose: Compose, make_case: Any) -> None:
    boxes = ((1.0, 1.0, 3.0, 3.0), (4.0, 4.0, 9.0, 9.0))
    found = compose([make_case("c1", "p1", boxes=boxes)])
    [crops] = found.of("roi_crops")
    assert crops["images"] == [
        crop_of(image_of(make_case("c1", "p1"), index), box) for index in (3, 4) for box in boxes
    ]
    assert not set(crops["images"]) & set(found.of("base")[0]["images"])


def test_one_picture_in_two_cases_has_the_crops_of_each(compose: Compose, make_case: Any) -> None:
    """Two annotations of the same pixels: the crops differ though their parent is one image."""
    cases = [make_case("c1", "p1", twin="t"), make_case("c2", "p2", twin="t", boxes=((0.0, 0.0, 2.0, 2.0),))]
    found = compose(cases, shards=1)
    [one], [two] = found.of("roi_crops", case_id="c1"), found.of("roi_crops", case_id="c2")
    assert found.of("base", case_id="c1")[0]["images"] == found.of("base", case_id="c2")[0]["images"]
    assert not set(one["images"]) & set(two["images"])


def test_images_come_first_and_options_last(compose: Compose, make_case: Any) -> None:
    """What varies least stands first, so that engines can reuse what they read of it."""
    [base], [swap] = (compose([make_case("c1", "p1")]).of(arm) for arm in ("base", "label_swap"))
    [message] = base["messages"]
    assert [part["type"] for part in message["content"]] == ["text", *["image"] * 9, "text"]
    tail = message["content"][-1]["text"].splitlines()
    assert tail == ["Which diagnosis is most likely?", "A. GBM", "B. MET", "C. UNSURE", "Answer with one letter."]
    assert swap["messages"][0]["content"][:-1] == message["content"][:-1]


# --- strata ------------------------------------------------------------------------------------


def test_strata_say_what_is_known_of_the_case(compose: Compose, make_case: Any) -> None:
    case = make_case("c1", "p1", site="north", covariates=(("sex", "f"),), unsampled=(3,))
    found = compose([case])
    known = {"sequence": "T1CE", "label": "GBM", "site": "north", "n_slices": "8", "n_lesion_slices": "1", "sex": "f"}
    # Both lesion slices of the volume count, though one is not sampled: 2 × 100 mm² × 5 mm.
    known["lesion_size"] = "1.0"
    for row in found.trials:
        extra = {"runs_matched": "true"} if row["arm"] == "matched_removed" else {}
        assert row["strata"] == {**known, **extra}


def test_what_is_unknown_is_no_stratum(compose: Compose, make_case: Any) -> None:
    found = compose([make_case("c1", "p1", lesion=None, label=None, sequence=None)])
    assert {tuple(row["strata"]) for row in found.trials} == {("n_slices",)}


def test_a_covariate_must_not_take_the_name_of_a_stratum(compose: Compose, make_case: Any) -> None:
    for name in ("n_slices", "lesion_size"):
        with pytest.raises(StudyError, match=name):
            compose([make_case("c1", "p1", covariates=((name, "3"),))])


def test_a_lesion_longer_than_either_side_is_matched_in_pieces_and_that_is_a_stratum(
    compose: Compose, make_case: Any
) -> None:
    found = compose([make_case("c1", "p1", slices=13, lesion=(4, 5, 6, 7, 8))])
    [control] = found.of("matched_removed")
    assert control["strata"]["runs_matched"] == "false"
    [manifest] = [row for row in found.manifests if row["arm"] == "matched_removed"]
    assert manifest["runs_matched"] is False


# --- cases that do not fit ---------------------------------------------------------------------


def reasons(found: Any) -> dict[tuple[str, str], str]:
    return {(row["case_id"], row["arm"]): row["reason"] for row in found.exclusions}


def test_an_unannotated_case_is_left_out_of_the_lesion_arms_and_analysed_in_the_others(
    compose: Compose, make_case: Any
) -> None:
    found = compose([make_case("c1", "p1", lesion=None)])
    assert reasons(found) == {("c1", arm): "no_annotation" for arm in LESION}
    assert {row["arm"] for row in found.trials} == set(ARMS_OF_A_GOOD_CASE) - LESION
    assert {row["stage"] for row in found.exclusions} == {"compose_trials"}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"lesion": ()}, dict.fromkeys(LESION, "no_lesion")),
        ({"lesion": (3,), "unsampled": (3,)}, dict.fromkeys(LESION, "lesion_not_sampled")),
        (
            {"lesion": tuple(range(9))},
            {
                **dict.fromkeys(("lesion_removed", "lesion_removed_margin", "remove_fraction"), "no_slice_left"),
                **dict.fromkeys(("roi_first", "roi_last", "roi_at", "roi_slices"), "no_change"),
                "matched_removed": "too_few_nonlesion",
            },
        ),
        ({"lesion": (1, 2, 3, 4, 5)}, {"matched_removed": "too_few_nonlesion"}),
        ({"lesion": (1, 4, 7)}, {"lesion_removed_margin": "no_slice_left"}),
        ({"lesion": (0, 1)}, {"roi_first": "no_change"}),
        ({"lesion": (7, 8)}, {"roi_last": "no_change"}),
        ({"boxes": ()}, {"roi_crops": "no_box"}),
        ({"whole": (3, 4)}, {"roi_crops": "no_change"}),
        ({"whole": (3,)}, {}),
        (
            {"slices": 1, "lesion": None},
            {"reverse": "no_change", "shuffle": "no_change", **dict.fromkeys(LESION, "no_annotation")},
        ),
    ],
)
def test_an_arm_says_why_a_case_does_not_fit(
    compose: Compose, make_case: Any, case: dict[str, Any], expected: dict[str, str]
) -> None:
    found = compose([make_case("c1", "p1", **case)])
    assert {arm: reason for (_, arm), reason in reasons(found).items()} == expected
    assert {row["arm"] for row in found.trials} == set(ARMS_OF_A_GOOD_CASE) - set(expected)


def test_slices_that_all_look_alike_have_no_other_order(compose: Compose, make_case: Any) -> None:
    """Asked again in reverse, the case would be the very request of base and could not flip."""
    found = compose([make_case("c1", "p1", alike=True)])
    assert reasons(found) == {("c1", arm): "no_change" for arm in ("reverse", "shuffle", "roi_first", "roi_last")}
    assert len(found.of("repeat", 1)) == 1


def test_every_case_is_asked_or_left_out_with_a_reason_under_every_arm(compose: Compose, make_case: Any) -> None:
    cases = [*some_cases(make_case), make_case("x1", "p9", lesion=None), make_case("x2", "p9", slices=1, lesion=(0,))]
    found = compose(cases)
    asked = {(row["case_id"], row["arm"]) for row in found.trials}
    assert not asked & set(reasons(found))
    assert asked | set(reasons(found)) == {(case.case_id, arm) for case in cases for arm in ARMS_OF_A_GOOD_CASE}


def exclusion(case_id: str, arm: str | None = None, model_id: str | None = None) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "stage": "slice_volumes",
        "arm": arm,
        "model_id": model_id,
        "reason": "annotation_labels" if arm else "constant",
        "detail": "found, expected",
    }


def test_cases_left_out_before_are_not_asked_and_not_counted_twice(compose: Compose, make_case: Any) -> None:
    cases = [make_case("c1", "p1"), make_case("c2", "p2", lesion=None), make_case("c3", "p3")]
    before = [
        exclusion("c1"),
        *(exclusion("c2", arm) for arm in sorted(LESION)),
        exclusion("c3", model_id="still"),
    ]
    found = compose(cases, excluded=before)
    assert {row["case_id"] for row in found.trials} == {"c2", "c3"}
    assert found.exclusions == []
    assert found.of("lesion_removed", case_id="c2") == []
    assert len(found.of("lesion_removed", case_id="c3")) == 1


def test_a_case_that_a_stage_lost_stops_the_study(compose: Compose, make_case: Any) -> None:
    with pytest.raises(StudyError, match="a stage lost it"):
        compose([make_case("c1", "p1", slices=2, unsampled=(0, 1))])


# --- what nothing depends on -------------------------------------------------------------------

BUSY = {"inference": {"stochastic_draws": 3, "repeat_share": 0.3}, "stochastic_models": ["dice"]}


def test_nothing_depends_on_shards_or_row_order(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    one = compose(cases, shards=1, **BUSY)
    for other in (compose(cases, shards=3, **BUSY), compose(cases[::-1], shards=2, backwards=True, **BUSY)):
        assert other.trials == one.trials
        assert other.manifests == one.manifests
        assert other.exclusions == one.exclusions


def test_nothing_depends_on_the_other_cases(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    together = compose(cases, **BUSY)
    for case in cases[::3]:
        alone = compose([case], **BUSY)
        assert alone.trials == [row for row in together.trials if row["case_id"] == case.case_id]


def test_nothing_depends_on_the_other_arms(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    everything = compose(cases, **BUSY)
    few = compose(cases, arms={"enabled": ["matched_removed", "lesion_removed", "base"]}, **BUSY)
    wanted = [row for row in everything.trials if row["arm"] in ("lesion_removed", "matched_removed")]
    assert [row for row in few.trials if row["arm"] != "base"] == wanted


def test_another_seed_changes_what_is_drawn_and_nothing_else(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    one, two = compose(cases, seed=1), compose(cases, seed=2)

    def rest(found: Any) -> list[dict[str, Any]]:
        return [row for row in found.trials if row["arm"] not in DRAWN]

    assert rest(one) == rest(two)
    for arm in DRAWN:
        assert one.of(arm) != two.of(arm)


def test_a_trial_s_id_is_its_own_and_changes_with_the_wording(
    compose: Compose, make_case: Any, project: Path, tmp_path: Path
) -> None:
    cases = some_cases(make_case, 2)
    ours = (project / "config" / "prompts" / "diagnose_brain_mri.yaml").read_text(encoding="utf-8")
    other = tmp_path / "diagnose_brain_mri.yaml"
    other.write_text(ours.replace("most likely", "likeliest"), encoding="utf-8")
    one, two = compose(cases, **BUSY), compose(cases, prompt=other, **BUSY)
    ids = [row["trial_id"] for row in one.trials]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & {row["trial_id"] for row in two.trials}


def test_the_manifest_tells_what_was_shown(compose: Compose, make_case: Any) -> None:
    """Images and options of every trial follow from the manifest, the slices and the item alone."""
    found = compose([make_case("c1", "p1", unsampled=(0,))])
    [base] = found.of("base")
    image_of = dict(zip(range(1, 9), base["images"], strict=True))
    manifests = {(row["arm"], row["variant"]): row for row in found.manifests}
    for row in found.trials:
        manifest = manifests[row["arm"], row["variant"]]
        assert row["options"] == [base["options"][place] for place in manifest["option_order"]]
        if row["arm"] not in ("blank_image", "roi_crops"):
            assert row["images"] == [image_of[index] for index in manifest["shown_indices"]]
        shown = manifest["shown_indices"]
        assert sorted((sorted(set(shown)) if row["arm"] == "roi_crops" else shown) + manifest["removed_indices"]) == [
            *image_of
        ]


def test_equal_seeds_give_equal_manifests_whatever_the_levels_of_other_arms(compose: Compose, make_case: Any) -> None:
    cases = some_cases(make_case)
    plain = compose(cases)
    wide = compose(cases, arms={"shuffles": 5, "fractions": [0.25, 0.5], "positions": [0.5, 1]})
    assert all(row in wide.manifests for row in plain.manifests)
    assert len(wide.manifests) == len(plain.manifests) + len(cases) * (4 + 1 + 1)


# --- what stops the study ----------------------------------------------------------------------


def test_a_prompt_that_names_a_side_is_refused_where_slices_move(
    compose: Compose, make_case: Any, project: Path, tmp_path: Path
) -> None:
    ours = (project / "config" / "prompts" / "diagnose_brain_mri.yaml").read_text(encoding="utf-8")
    other = tmp_path / "diagnose_brain_mri.yaml"
    other.write_text(ours.replace("Which diagnosis", "Which diagnosis on the left"), encoding="utf-8")
    with pytest.raises(
        StudyError, match=r"\['left'\].*leave out the arms reverse, shuffle, roi_first, roi_last, roi_at"
    ):
        compose([make_case("c1", "p1")], prompt=other)
    kept = {"enabled": ["base", "label_swap", "lesion_removed"]}
    assert len(compose([make_case("c1", "p1")], prompt=other, arms=kept).trials) == 3


def test_a_prompt_that_the_configuration_does_not_name_is_refused(compose: Compose, make_case: Any) -> None:
    with pytest.raises(StudyError, match=r"question\.prompt"):
        compose([make_case("c1", "p1")], question={"prompt": "another", "unsure": True})


@pytest.mark.parametrize("offered", [["MET", "GBM", "UNSURE"], ["GBM", "MET"], ["UNSURE", "GBM", "MET"]])
def test_items_of_another_configuration_are_refused(compose: Compose, make_case: Any, offered: list[str]) -> None:
    with pytest.raises(StudyError, match="Rerun register_cohort"):
        compose([make_case("c1", "p1")], offered=offered)


def test_a_slice_without_its_derived_image_is_refused(compose: Compose, make_case: Any, project: Path) -> None:
    settings = ComposeTrialsSettings.model_validate(
        {
            "seed": 1,
            "shards": 1,
            "cohort": {"labels": ["GBM", "MET"]},
            "question": {},
            "arms": {},
            "stochastic_models": [],
            "inference": {"stochastic_draws": 2, "repeat_share": 0},
        }
    )
    prompt = load_prompt(project / "config" / "prompts" / "diagnose_brain_mri.yaml")
    composer = Composer(settings, prompt, derived={}, log=ExclusionLog("compose_trials"))
    item = {
        "item_id": "i",
        "case_id": "c",
        "cluster_id": "p",
        "question": prompt.name,
        "answer_kind": "choice",
        "options": ["GBM", "MET", "UNSURE"],
    }
    with pytest.raises(StudyError, match="Rerun perturb_images"):
        composer.item(item, CaseView("c", {0: "a", 1: "b"}, None, None, {}))


# --- the configuration -------------------------------------------------------------------------


def test_the_stage_takes_what_the_dispatcher_hands_it() -> None:
    """Entries of models come without licence and resources; of a folder without its path."""
    models = ModelsTable.model_validate(
        {
            "models": [
                {
                    "id": "local",
                    "family": "idefics3",
                    "backend": "transformers",
                    "source": {"kind": "folder", "path": "somewhere"},
                    "licence": "none",
                    "deterministic": False,
                }
            ]
        }
    )
    study = StudyConfig(models=("local",))
    settings = ComposeTrialsSettings.model_validate(settings_of("compose_trials", study, models))
    assert settings.stochastic_models == ("local",)
    assert CheckCohortSettings.model_validate(settings_of("check_cohort", study, models)).cohort.min_patients == 2
