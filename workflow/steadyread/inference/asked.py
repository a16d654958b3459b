"""A model's entry as a stage sees it: without licence, resources and where a folder lies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..config.models_table import BaselineSource, BuiltSource, FolderSource, HubSource, ModelEntry


class PlacedFolder(FolderSource):
    """A snapshot in a local folder; the stage gets the folder with its listing."""

    path: str = ""
    """Left out of a stage's settings."""


class AskedModel(ModelEntry):
    """An entry of config/models.yaml whose licence and resources do not matter to the answers."""

    licence: str = ""
    """Left out of a stage's settings."""
    source: Annotated[HubSource | PlacedFolder | BuiltSource | BaselineSource, Field(discriminator="kind")]
    """Where its weights come from."""
