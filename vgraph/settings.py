"""Every setting, read once at the edge from the environment (`VGRAPH_SECTION__NAME`), a `.env` file or `vgraph.toml`, in this order.

An unknown name is an error and not a default, in a section as well as beside the sections. What other programs keep in the environment or
in `.env` under names of their own is left alone. Rooms below `app` take plain values, never this object.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from vgraph.errors import UserError

PREFIX: Final = "VGRAPH_"
OTHERS: Final = ("VGRAPH_TEST_", "VGRAPH_FIXTURES", "VGRAPH_CONFORMANCE", "VGRAPH_TOKEN", "VGRAPH_VIDEOS")
"""Names (or their beginnings) that are no settings and may stand beside them: of the tests, and of docker-compose.yml."""


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


def _paired(value: object) -> object:
    """Names and what they mean, as people write them in the environment: `a=b, c=d`, or a JSON object."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("neither a JSON object nor name=meaning separated by commas") from None
    if isinstance(value, Mapping):
        return tuple(value.items())
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(name.strip() and sign and meant.strip() for name, sign, meant in pairs):
        raise ValueError("neither a JSON object nor name=meaning separated by commas")
    return tuple((name.strip(), meant.strip()) for name, _, meant in pairs)


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Pairs = Annotated[tuple[tuple[str, str], ...], NoDecode, BeforeValidator(_paired)]
Dimensions = Annotated[
    tuple[Literal["time", "location", "characters", "events", "scene", "summary"], ...],
    NoDecode,
    BeforeValidator(_listed),
]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_listed)]


class DatabaseSettings(Section):
    """Where the graph lives: `embedded:PATH` (no server) or `http(s)://host:8529`."""

    url: str = "embedded:vgraph-data/graph.sqlite"
    name: str = "vgraph"
    username: str = "root"
    password: SecretStr = SecretStr("")
    timeout_s: float = Field(60.0, gt=0)


class MediaSettings(Section):
    """How video is cut. `segmenter=window`: fixed windows with overlap; `scene`: PySceneDetect content scenes; `event`: change points of
    what the pictures show (PELT); `subtitle`: at the edges of what is said, near `window_s`.
    """

    segmenter: Literal["window", "scene", "event", "subtitle"] = "window"
    window_s: float = Field(30.0, gt=0)
    overlap_s: float = Field(0.0, ge=0)
    scene_threshold: float = Field(27.0, gt=0)
    scene_min_s: float = Field(1.0, gt=0)
    scene_max_s: float = Field(60.0, gt=0)
    scene_frames: int = Field(10, ge=1)
    event_every_s: float = Field(1.0, gt=0)
    event_penalty: float = Field(5.0, gt=0)
    event_min_samples: int = Field(5, ge=1)
    event_min_s: float = Field(5.0, ge=0)
    event_max_s: float = Field(60.0, gt=0)
    frame_every_s: float = Field(1.0, gt=0)
    subtitle_streams: bool = True
    frame_width: int = Field(512, ge=16)
    jpeg_quality: int = Field(80, ge=1, le=95)
    assets: Path = Path("vgraph-data/assets")
    roots: Folders = ()


class ModelSettings(Section):
    """Which model does what: `auto`, `none`, or `provider[:model]`, where model is a hub id, a path or an endpoint's own name.

    caption: openai, transformers. transcribe: openai, faster-whisper, whisperx. diarize: whisperx.
    embed: openai, sentence-transformers, wordllama. image_embed: transformers,
    sentence-transformers. detect: transformers, onnx, motion. read: rapidocr. chat: openai.
    entities: spacy. rerank: sentence-transformers. intent: openai,
    transformers. `auto` takes the first that is configured,
    or installed with its weights on this disk; it downloads nothing (see `vgraph doctor`).
    """

    caption: str = "auto"
    transcribe: str = "auto"
    diarize: str = "auto"
    embed: str = "auto"
    image_embed: str = "auto"
    detect: str = "auto"
    read: str = "auto"
    chat: str = "auto"
    entities: str = "auto"
    rerank: str = "none"
    intent: str = "none"
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
    voice: Literal["auto", "silero", "energy", "none"] = "auto"
    voice_threshold: float = Field(0.5, gt=0, lt=1)
    voice_pause_s: float = Field(1.0, ge=0)
    voice_pad_s: float = Field(0.4, ge=0)
    speech_block_s: float = Field(60.0, ge=5)
    speech_languages: Names = ()


class IngestSettings(Section):
    """What is taken out of a video. The types of a preset (ingest/extract/vocabulary.py) hold where none are set."""

    preset: Literal["general", "egocentric", "warehouse", "traffic", "retail"] = "general"
    entity_types: Names = ()
    relation_types: Names = ()
    open_relations: bool | None = None
    relation_synonyms: Pairs = ()
    fuse: bool = True
    unit_s: float = Field(3600.0, gt=0)
    temporal: bool = True
    union: bool = True
    context_tokens: int = Field(32_768, ge=1_024)
    reply_tokens: int = Field(4_096, ge=64)
    caption_frames: int = Field(8, ge=1)
    caption_hears: bool = False
    caption_dimensions: Dimensions = ("time", "location", "characters", "events", "scene", "summary")
    draw_tracks: bool = True
    keep_drawn: bool = False
    read_every_s: float = Field(10.0, gt=0)
    burnt_in_clock: bool = True
    detect_every_s: float = Field(0.2, gt=0)
    track_looks: bool = True
    language: str = "en"
    languages: Names = ()
    batch_segments: int = Field(16, ge=1)


class FlowSettings(Section):
    """How much is done at once, and how much it may cost: `max_tokens` and `max_money` are the caps of one run over all its videos."""

    videos_at_once: int = Field(2, ge=1)
    calls_at_once: int = Field(4, ge=1)
    segments_ahead: int = Field(2, ge=0)
    max_tokens: int | None = Field(None, ge=0)
    max_money: float | None = Field(None, ge=0)


class PriceSettings(Section):
    """What models cost, in money of your choice: per million tokens in and out, and per minute of sound."""

    caption_input: float = Field(0.0, ge=0)
    caption_output: float = Field(0.0, ge=0)
    chat_input: float = Field(0.0, ge=0)
    chat_output: float = Field(0.0, ge=0)
    embed_input: float = Field(0.0, ge=0)
    transcribe_minute: float = Field(0.0, ge=0)


class LiveSettings(Section):
    """How streams and growing files are taken down. Addresses inside of private networks must be allowed: names, numbers, networks."""

    allowed_hosts: Names = ()
    piece_s: float = Field(10.0, gt=0)
    connect_s: float = Field(10.0, gt=0)
    idle_s: float = Field(15.0, gt=0)
    backoff_s: float = Field(1.0, gt=0)
    longest_backoff_s: float = Field(60.0, gt=0)
    waiting_pieces: int = Field(30, ge=1)
    keep_recordings: bool = True


class DeriveSettings(Section):
    """What the graph derives from itself after an ingest: likeness of clips, summaries of windows of time, themes of entities."""

    similar: bool = True
    similar_eta: float = Field(0.4, ge=-1, le=1)
    similar_top: int = Field(4, ge=1, le=64)
    windows: bool = True
    window_chunks: int = Field(10, ge=1)
    window_fanout: int = Field(12, ge=2)
    themes: bool = True
    theme_members: int = Field(3, ge=2)
    theme_levels: int = Field(2, ge=1)
    theme_resolution: float = Field(1.0, gt=0)
    summary_sentences: int = Field(3, ge=1, le=20)


class IdentitySettings(Section):
    """Which entities are one (ingest/identity): joined unasked from a score of `confirm` on, proposed from `propose` on.

    How cameras lie to one another, which `travel` and `veto` need, is told by `vgraph cameras adjacent`.
    """

    enabled: bool = True
    names: bool = True
    phonetic: bool = True
    embedding: bool = True
    cooccurrence: bool = True
    appearance: bool = True
    travel: bool = True
    veto: bool = True
    propose: float = Field(0.6, gt=0, lt=1)
    confirm: float = Field(0.95, gt=0, lt=1)
    near: int = Field(8, ge=1)
    near_min: float = Field(0.7, ge=-1, le=1)
    block_max: int = Field(32, ge=2)
    appearance_min: float = Field(0.5, ge=-1, le=1)
    appearance_max: float = Field(0.7, ge=-1, le=1)
    recent: int = Field(10, ge=1)
    again_s: float = Field(60.0, ge=0)
    uncertainty_s: float = Field(1.0, ge=0)
    one_place: Names = ("person", "vehicle", "animal", "object")


class RetrieveSettings(Section):
    """How evidence is found and packed. `profile`: how a question enters the graph (see README, "Profiles")."""

    profile: Literal["chunks", "entities", "clips", "summaries", "rank", "relations", "graph", "auto"] = "auto"
    k: int = Field(10, ge=1)
    leg_k: int = Field(30, ge=1)
    rrf_k: int = Field(60, ge=1)
    hops: int = Field(2, ge=0, le=4)
    neighbours: int = Field(1, ge=0)
    token_budget: int = Field(6000, ge=200)
    entities: int = Field(5, ge=1)
    summaries: int = Field(4, ge=1)
    anchors: int = Field(3, ge=1)
    clip_hops: int = Field(2, ge=0, le=4)
    eta: float = Field(0.4, ge=-1, le=1)
    clip_edges: Names = ("NEXT_CHUNK", "SIMILAR_TO")
    vector_weight: float = Field(0.5, ge=0)
    text_weight: float = Field(1.0, ge=0)
    utterance_weight: float = Field(0.0, ge=0)
    entity_weight: float = Field(0.0, ge=0)
    summary_weight: float = Field(0.0, ge=0)
    frame_weight: float = Field(0.0, ge=0)
    fusion: Literal["rrf", "weighted"] = "weighted"
    rerank: int = Field(50, ge=0)
    mmr: float | None = Field(None, ge=0, le=1)
    cascade: Literal["window", "days"] = "window"
    enough: int = Field(5, ge=1)
    graph_edges: Names = ("NEXT_CHUNK", "SIMILAR_TO", "HAS_ENTITY", "LINKS_TO", "IN_SUMMARY")
    graph_nodes: int = Field(500, ge=1)
    intent: Literal["none", "frames", "captions"] = "none"
    intent_threshold: float = Field(3.25, ge=1, le=5)
    intent_frames: int = Field(4, ge=1)
    order: Literal["time", "score"] = "time"
    pack: Literal["text", "json", "messages"] = "text"

    def chosen(self, given: Mapping[str, Any]) -> RetrieveSettings:
        """These settings with some of them otherwise. Raises UserError for a name or a value that does not fit."""
        try:
            return RetrieveSettings(**{**self.model_dump(), **given})
        except ValidationError as error:
            raise UserError(
                "; ".join(f"{item['loc'][0]}: {item['msg'].removeprefix('Value error, ')}" for item in error.errors())
            ) from None


class AgentSettings(Section):
    """How questions are answered where there is a chat model (README, "Agents"), and what one answer may cost."""

    agent: Literal["direct", "plan", "divide", "auto"] = "direct"
    max_steps: int = Field(60, ge=1)
    max_tokens: int | None = Field(200_000, ge=0)
    max_seconds: float | None = Field(300.0, gt=0)
    max_money: float | None = Field(None, ge=0)
    subtasks: int = Field(5, ge=2, le=20)
    max_depth: int = Field(5, ge=0, le=20)
    tries: int = Field(3, ge=1, le=10)
    route: bool = True
    verify: bool = True
    frames: int = Field(50, ge=0, le=500)
    evidence_tokens: int = Field(6_000, ge=500)
    tools: Names = ()
    record: bool = True


class ServeSettings(Section):
    """The HTTP API. Anything but loopback needs a token."""

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    token: SecretStr | None = None


class Settings(BaseSettings):
    """All sections. `Settings.load()` turns a wrong value into a UserError that names the setting and the accepted form."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_file=".env",
        env_file_encoding="utf-8",
        toml_file="vgraph.toml",
        extra="ignore",
        frozen=True,
    )

    database: DatabaseSettings = DatabaseSettings()
    media: MediaSettings = MediaSettings()
    models: ModelSettings = ModelSettings()
    ingest: IngestSettings = IngestSettings()
    flow: FlowSettings = FlowSettings()
    prices: PriceSettings = PriceSettings()
    live: LiveSettings = LiveSettings()
    derive: DeriveSettings = DeriveSettings()
    identity: IdentitySettings = IdentitySettings()
    retrieve: RetrieveSettings = RetrieveSettings()
    agent: AgentSettings = AgentSettings()
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
        toml_settings = TomlConfigSettingsSource(settings_cls)
        sources = (init_settings, env_settings, dotenv_settings, toml_settings)
        _refuse_unknown(sources)
        return sources

    @classmethod
    def load(cls, **overrides: object) -> Settings:
        try:
            return cls(**overrides)  # type: ignore[arg-type]
        except ValidationError as error:
            raise UserError(_explain(error)) from None
        except SettingsError as error:
            raise UserError(f"settings: {error}") from None
        except TOMLDecodeError as error:
            raise UserError(f"settings: vgraph.toml: {error}") from None
        except (UnicodeError, OSError) as error:
            raise UserError(f"settings: .env or vgraph.toml cannot be read: {error}") from None


# --- what is wrong, in the words of the one who wrote it ----------------------------------------------------------------


def _refuse_unknown(sources: Iterable[PydanticBaseSettingsSource]) -> None:
    """Raise UserError for a section that does not exist; pydantic-settings would pass it over."""
    unknown = [name for source in sources for name in _named(source) if not _is_known(name)]
    if unknown:
        raise UserError("settings: " + "; ".join(f"{name}: unknown setting{_near(name)}" for name in unknown))


def _named(source: PydanticBaseSettingsSource) -> Iterator[str]:
    """The names a source sets, as the environment would write them."""
    if isinstance(source, InitSettingsSource):
        yield from (PREFIX + name.upper() for name in source.init_kwargs)
    elif isinstance(source, EnvSettingsSource):
        yield from (name.upper() for name in source.env_vars if name.upper().startswith(PREFIX))


def _is_known(name: str) -> bool:
    section = name.removeprefix(PREFIX).split("__")[0].lower()
    return section in Settings.model_fields or name.startswith(OTHERS)


def _setting_names() -> list[str]:
    """Every setting as the environment writes it."""
    return [
        f"{PREFIX}{section}__{name}".upper()
        for section, field in Settings.model_fields.items()
        for name in field.default.__class__.model_fields
    ]


def _near(name: str) -> str:
    """The settings a mistyped name may stand for: near in spelling, or with the same last word."""
    names = _setting_names()
    last = name.removeprefix(PREFIX).split("__")[-1]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.8) or [n for n in names if n.endswith(f"__{last}")][:1]
    return f"; did you mean {near[0]}?" if near else ""


def _explain(error: ValidationError) -> str:
    """One line a wrong setting: its environment name, what is wrong, never its value (it may be a secret)."""
    return "settings: " + "; ".join(_explained(item) for item in error.errors())


def _explained(item: Mapping[str, Any]) -> str:
    name = PREFIX + "__".join(str(part).upper() for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{name}: unknown setting{_near(name)}"
    return f"{name}: {item['msg'].removeprefix('Value error, ')}"
