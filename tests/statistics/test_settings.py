"""The stage takes the settings that the dispatcher hands it for the default study."""

from __future__ import annotations

import yaml

from steadyread.config.models_table import ModelsTable
from steadyread.config.study import StudyConfig
from steadyread.stages.settings import settings_of
from steadyread.statistics.estimate import EstimateSettings


def test_the_default_study_s_settings_are_taken_and_say_whose_floor_is_zero(project):
    models = ModelsTable.model_validate(yaml.safe_load((project / "config" / "models.yaml").read_text()))
    settings = EstimateSettings.model_validate(settings_of("estimate", StudyConfig(), models))
    zero = {model.id: model.floor_is_zero for model in settings.models_table}
    assert {name for name, must in zero.items() if not must} == {"coin-2", "coin-3"}
    assert zero["phantom-reader"] and zero["phantom-reader-steady"]
