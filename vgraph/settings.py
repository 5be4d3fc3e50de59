"""Every setting, read once at the edge from the environment (`VGRAPH_SECTION__NAME`), a `.env` file or `vgraph.toml`.

Sections forbid unknown names, so that a typo is an error and not a default. Rooms below `app` take plain values, never this object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from vgraph.errors import UserError


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


def _listed(value: object) -> object:
    """A list as people write it in the environment: `a, b`, or JSON."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError("neither a JSON list nor names separated by commas") from None
    return [part.strip() for part in value.split(",") if part.strip()]


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_listed)]


class DatabaseSettings(Section):
    """Where the graph lives: `embedded:PATH` (no server) or `http(s)://host:8529`."""

    url: str = "embedded:vgraph-data/graph.sqlite"
    name: str = "vgraph"
    username: str = "root"
    password: SecretStr = SecretStr("")
    timeout_s: float = Field(60.0, gt=0)


class MediaSettings(Section):
    """How video is cut. `segmenter=window`: fixed windows with overlap; `scene`: PySceneDetect content scenes."""

    segmenter: Literal["window", "scene"] = "window"
    window_s: float = Field(30.0, gt=0)
    overlap_s: float = Field(0.0, ge=0)
    scene_threshold: float = Field(27.0, gt=0)
    scene_min_s: float = Field(1.0, gt=0)
    scene_max_s: float = Field(60.0, gt=0)
    frame_every_s: float = Field(1.0, gt=0)
    frame_width: int = Field(512, ge=16)
    jpeg_quality: int = Field(80, ge=1, le=95)
    assets: Path = Path("vgraph-data/assets")
    roots: Folders = ()


class ModelSettings(Section):
    """Which model does what: `auto`, `none`, or `provider[:model]`, where model is a hub id, a path or an endpoint's own name.

    caption: openai. transcribe: openai, faster-whisper. embed: openai, sentence-transformers, wordllama. image_embed: transformers,
    sentence-transformers. detect: transformers, onnx, motion. read: rapidocr. chat: openai. `auto` takes the first that is configured,
    or installed with its weights on this disk; it downloads nothing (see `vgraph doctor`).
    """

    caption: str = "auto"
    transcribe: str = "auto"
    embed: str = "auto"
    image_embed: str = "auto"
    detect: str = "auto"
    read: str = "auto"
    chat: str = "auto"
    openai_base_url: str | None = None
    openai_api_key: SecretStr | None = None
    openai_chat_model: str | None = None
    openai_vision_model: str | None = None
    openai_embed_model: str | None = None
    openai_transcribe_model: str | None = None
    timeout_s: float = Field(60.0, gt=0)
    retries: int = Field(3, ge=0)
    device: str = "cpu"
    threads: int = Field(2, ge=1)


class IngestSettings(Section):
    """What is taken out of a video."""

    entity_types: Names = ("person", "vehicle", "object", "location", "organisation", "event", "animal")
    relation_types: Names = ()
    caption_frames: int = Field(8, ge=1)
    read_every_s: float = Field(10.0, gt=0)
    detect_every_s: float = Field(0.2, gt=0)
    language: str = "en"
    batch_segments: int = Field(16, ge=1)


class RetrieveSettings(Section):
    """How evidence is found and packed."""

    k: int = Field(10, ge=1)
    leg_k: int = Field(30, ge=1)
    rrf_k: int = Field(60, ge=1)
    hops: int = Field(2, ge=0, le=2)
    neighbours: int = Field(1, ge=0)
    token_budget: int = Field(4000, ge=200)


class ServeSettings(Section):
    """The HTTP API. Anything but loopback needs a token."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    token: SecretStr | None = None


class _DotEnv(DotEnvSettingsSource):
    """A `.env` that may hold names of other programs too: docker compose reads the same file."""

    def __call__(self) -> dict[str, Any]:
        _refuse_unknown_sections(self.env_vars)
        return {name: value for name, value in super().__call__().items() if name in self.settings_cls.model_fields}


class Settings(BaseSettings):
    """All sections. `Settings.load()` turns a wrong value into a UserError that names the setting and the accepted form."""

    model_config = SettingsConfigDict(
        env_prefix="VGRAPH_",
        env_nested_delimiter="__",
        env_file=".env",
        env_file_encoding="utf-8",
        toml_file="vgraph.toml",
        extra="forbid",
        frozen=True,
    )

    database: DatabaseSettings = DatabaseSettings()
    media: MediaSettings = MediaSettings()
    models: ModelSettings = ModelSettings()
    ingest: IngestSettings = IngestSettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    serve: ServeSettings = ServeSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _DotEnv(settings_cls), TomlConfigSettingsSource(settings_cls)

    @classmethod
    def load(cls, **overrides: object) -> Settings:
        _refuse_unknown_sections(os.environ)
        try:
            return cls(**overrides)  # type: ignore[arg-type]
        except ValidationError as error:
            raise UserError(_explain(error)) from None
        except ValueError as error:
            raise UserError(f"settings: cannot be read ({error})") from None


def _refuse_unknown_sections(names: Iterable[str]) -> None:
    """Names that look like settings of a section that there is not: a typo would otherwise pass as a default."""
    written = [name.upper() for name in names if name.upper().startswith("VGRAPH_") and "__" in name]
    sections = [section.upper() for section in Settings.model_fields]
    unknown = sorted(n for n in written if n.removeprefix("VGRAPH_").partition("__")[0] not in sections)
    if unknown:
        raise UserError(f"settings: {', '.join(unknown)}: no such section; there are {', '.join(sections)}")


def _explain(error: ValidationError) -> str:
    """One line a wrong setting: its environment name, what is wrong, never its value (it may be a secret)."""
    lines = []
    for item in error.errors():
        name = "VGRAPH_" + "__".join(str(part).upper() for part in item["loc"])
        lines.append(f"{name}: {item['msg']}")
    return "settings: " + "; ".join(lines)
