"""config/models.yaml as it ships."""

from __future__ import annotations

import pytest
import yaml

from steadyread.config.models_table import BackendName, HubSource, ModelsTable
from steadyread.config.study import DEFAULT_MODELS
from steadyread.inference.asked import AskedModel
from steadyread.inference.backend import AskSettings, open_backend


@pytest.fixture(scope="module")
def table(project):
    return ModelsTable.model_validate(yaml.safe_load((project / "config" / "models.yaml").read_text()))


def test_the_default_study_finds_its_models(table):
    assert set(DEFAULT_MODELS) <= {entry.id for entry in table.models}


def test_no_hash_is_written_that_was_not_read_from_the_hub(table):
    hub = [entry for entry in table.models if isinstance(entry.source, HubSource)]
    assert {entry.family.value for entry in hub} >= {"gemma3", "qwen2_5_vl", "internvl", "idefics3", "llava"}
    assert all(entry.source.revision is None for entry in hub)


def test_the_baselines_open_and_the_coins_alone_are_not_deterministic(table):
    for entry in table.models:
        if entry.backend is BackendName.BASELINES:
            open_backend(AskSettings(AskedModel.model_validate(entry.model_dump(mode="json")), 0, 8))
        assert entry.deterministic == (not entry.id.startswith("coin"))
