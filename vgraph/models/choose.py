"""Which model does what: from a spec for each need to ready adapters, with a word on why.

A spec is `auto`, `none`, or `provider[:model]`, where model is a hub id, a path, or an endpoint's own name. `auto` takes the first of the
need's providers that is configured or installed with its weights on this disk; it never downloads. A provider that is named and cannot be
had is an error: UserError for a setting, MissingDependency for a package.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vgraph.errors import MissingDependency, UserError
from vgraph.models import (
    Captioner,
    ChatModel,
    Detector,
    Diarizer,
    Embedder,
    EntityFinder,
    ImageEmbedder,
    Rater,
    Reader,
    Reranker,
    Transcriber,
)
from vgraph.models.captions import DIMENSIONS, VisionCaptioner
from vgraph.models.cross_encoder import DEFAULT_RERANKER, CrossEncoderReranker
from vgraph.models.endpoint import Endpoint
from vgraph.models.faster_whisper import FasterWhisper
from vgraph.models.loading import cached, command, installed, is_path
from vgraph.models.motion import MotionDetector
from vgraph.models.offline import HashEmbedder
from vgraph.models.onnx import OnnxDetector
from vgraph.models.openai import OpenAIChat, OpenAIEmbedder
from vgraph.models.openai_speech import OpenAITranscriber
from vgraph.models.rapidocr import RapidReader
from vgraph.models.rating import OpenAIRater
from vgraph.models.sentence_transformers import SentenceTransformerEmbedder, SentenceTransformerImages
from vgraph.models.spacy import DEFAULT_SPACY, SpacyFinder
from vgraph.models.transformers import TransformersDetector, TransformersImages
from vgraph.models.transformers_rating import TransformersRater
from vgraph.models.transformers_vision import DEFAULT_CAPTIONER, TransformersCaptioner
from vgraph.models.voice import Voice, gate
from vgraph.models.whisperx import DIARIZATION, WhisperX, WhisperXDiarizer
from vgraph.models.wordllama import WordLlamaEmbedder
from vgraph.types import Usage

ENTITY_TYPES: Final = ("person", "vehicle", "object", "location", "organisation", "event", "animal")
NEEDS: Final = (
    "caption",
    "transcribe",
    "diarize",
    "embed",
    "image_embed",
    "detect",
    "read",
    "chat",
    "entities",
    "rerank",
    "intent",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the operator set, as plain values: the specs, the endpoint, and how local models may use the machine."""

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
    openai_api_key: str | None = None
    openai_chat_model: str | None = None
    openai_vision_model: str | None = None
    openai_embed_model: str | None = None
    openai_transcribe_model: str | None = None
    timeout_s: float = 60.0
    retries: int = 3
    device: str = "cpu"
    threads: int = 2
    voice: str = "auto"
    voice_threshold: float = 0.5
    voice_pause_s: float = 1.0
    voice_pad_s: float = 0.4
    speech_block_s: float = 60.0
    speech_languages: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Wanted({', '.join(f'{need}={getattr(self, need)!r}' for need in NEEDS)})"


@dataclass(frozen=True, slots=True)
class Pick:
    """What serves a need: a spec (`none` when nothing does) and why."""

    need: str
    spec: str
    reason: str


@dataclass(frozen=True, slots=True)
class Models:
    """One adapter a need, or None; weights are loaded when first used. `picked` tells what and why."""

    caption: Captioner | None
    transcribe: Transcriber | None
    diarize: Diarizer | None
    embed: Embedder | None
    image_embed: ImageEmbedder | None
    detect: Detector | None
    read: Reader | None
    chat: ChatModel | None
    entities: EntityFinder | None
    rerank: Reranker | None
    intent: Rater | None
    picked: tuple[Pick, ...]
    endpoint: Endpoint | None = None

    @property
    def usage(self) -> Mapping[str, Usage]:
        """Tokens the endpoint has counted so far, by stage."""
        return dict(self.endpoint.usage) if self.endpoint else {}


@dataclass(frozen=True, slots=True)
class Site:
    """What all adapters of one choice share."""

    wanted: Wanted
    endpoint: Endpoint | None
    entity_types: tuple[str, ...]
    caption_frames: int
    dimensions: tuple[str, ...] = tuple(DIMENSIONS)

    @property
    def server(self) -> Endpoint:
        if self.endpoint is None:
            raise UserError(
                "openai: no endpoint is set; set VGRAPH_MODELS__OPENAI_BASE_URL (any compatible server) "
                "or VGRAPH_MODELS__OPENAI_API_KEY (OpenAI's own)"
            )
        return self.endpoint


@dataclass(frozen=True, slots=True)
class Order:
    """What one adapter is made from: the model as its library takes it, and the name it goes by."""

    model: str
    name: str
    site: Site
    on_disk: bool

    @property
    def loading(self) -> dict[str, Any]:
        wanted = self.site.wanted
        return {"name": self.name or None, "device": wanted.device, "threads": wanted.threads}

    @property
    def hearing(self) -> dict[str, Any]:
        """How sound comes to a transcriber."""
        wanted = self.site.wanted
        voice = Voice(
            threshold=wanted.voice_threshold,
            pause_ms=round(wanted.voice_pause_s * 1000),
            pad_ms=round(wanted.voice_pad_s * 1000),
        )
        return {
            "gate": gate(wanted.voice, voice),
            "block_ms": round(wanted.speech_block_s * 1000),
            "languages": wanted.speech_languages,
        }


@dataclass(frozen=True, slots=True)
class Provider:
    """One way to serve a need. `setting` names the endpoint's model; `weights` is the file that proves that `default` was downloaded,
    `package` the one that `default` comes as.
    """

    make: Callable[[Order], Any]
    packages: tuple[str, ...] = ()
    setting: str = ""
    default: str = ""
    hub: str = ""
    weights: str = ""
    package: str = ""
    takes_model: bool = True
    automatic: bool = True


def _openai(make: Callable[[Endpoint, str], Any], setting: str) -> Provider:
    return Provider(lambda order: make(order.site.server, order.model), ("openai",), setting=setting)


def _vision(order: Order) -> VisionCaptioner:
    chat = OpenAIChat(order.site.server, order.model, stage="caption")
    site = order.site
    return VisionCaptioner(
        chat, entity_types=site.entity_types, max_frames=site.caption_frames, dimensions=site.dimensions
    )


def _local_vision(order: Order) -> TransformersCaptioner:
    site = order.site
    return TransformersCaptioner(
        order.model, max_frames=site.caption_frames, dimensions=site.dimensions, **order.loading
    )


PROVIDERS: Final[Mapping[str, Mapping[str, Provider]]] = {
    "caption": {
        "openai": Provider(_vision, ("openai",), setting="openai_vision_model"),
        "transformers": Provider(
            _local_vision,
            ("transformers", "torch"),
            default=DEFAULT_CAPTIONER,
            weights="model.safetensors",
        ),
    },
    "transcribe": {
        "openai": Provider(
            lambda order: OpenAITranscriber(order.site.server, order.model, **order.hearing),
            ("openai",),
            setting="openai_transcribe_model",
        ),
        "faster-whisper": Provider(
            lambda order: FasterWhisper(order.model, download=not order.on_disk, **order.loading, **order.hearing),
            ("faster_whisper",),
            default="small",
            hub="Systran/faster-whisper-small",
            weights="model.bin",
        ),
        "whisperx": Provider(
            lambda order: WhisperX(order.model, download=not order.on_disk, **order.loading, **order.hearing),
            ("whisperx",),
            default="small",
            hub="Systran/faster-whisper-small",
            weights="model.bin",
            automatic=False,
        ),
    },
    "diarize": {
        "whisperx": Provider(
            lambda order: WhisperXDiarizer(order.model, name=order.name or None, device=order.site.wanted.device),
            ("whisperx",),
            default=DIARIZATION,
            weights="config.yaml",
        ),
    },
    "embed": {
        "openai": _openai(OpenAIEmbedder, "openai_embed_model"),
        "sentence-transformers": Provider(
            lambda order: SentenceTransformerEmbedder(order.model, **order.loading),
            ("sentence_transformers",),
            default="BAAI/bge-small-en-v1.5",
            weights="model.safetensors",
        ),
        "wordllama": Provider(lambda _: WordLlamaEmbedder(), ("wordllama",), takes_model=False),
        "hash": Provider(lambda _: HashEmbedder(), takes_model=False, automatic=False),
    },
    "image_embed": {
        "transformers": Provider(
            lambda order: TransformersImages(order.model, **order.loading),
            ("transformers", "torch"),
            default="google/siglip2-base-patch16-224",
            weights="model.safetensors",
        ),
        "sentence-transformers": Provider(
            lambda order: SentenceTransformerImages(order.model, **order.loading),
            ("sentence_transformers",),
            default="sentence-transformers/clip-ViT-B-32",
            weights="0_CLIPModel/model.safetensors",
        ),
    },
    "detect": {
        "transformers": Provider(
            lambda order: TransformersDetector(order.model, **order.loading),
            ("transformers", "torch"),
            default="PekingU/rtdetr_v2_r18vd",
            weights="model.safetensors",
        ),
        "onnx": Provider(lambda order: OnnxDetector(order.model, **order.loading), ("onnxruntime",), automatic=False),
        "motion": Provider(lambda _: MotionDetector(), ("cv2",), takes_model=False),
    },
    "read": {
        "rapidocr": Provider(
            lambda order: RapidReader(threads=order.site.wanted.threads), ("rapidocr", "onnxruntime"), takes_model=False
        ),
    },
    "chat": {"openai": _openai(OpenAIChat, "openai_chat_model")},
    "entities": {
        "spacy": Provider(
            lambda order: SpacyFinder(order.model, name=order.name or None),
            ("spacy",),
            default=DEFAULT_SPACY,
            package=DEFAULT_SPACY,
        ),
    },
    "rerank": {
        "sentence-transformers": Provider(
            lambda order: CrossEncoderReranker(order.model, **order.loading),
            ("sentence_transformers",),
            default=DEFAULT_RERANKER,
            weights="model.safetensors",
        ),
    },
    "intent": {
        "openai": _openai(OpenAIRater, "openai_vision_model"),
        "transformers": Provider(
            lambda order: TransformersRater(order.model, **order.loading),
            ("transformers", "torch"),
            default=DEFAULT_CAPTIONER,
            weights="model.safetensors",
        ),
    },
}
"""For each need its providers, the ones `auto` prefers first."""


def choose(
    wanted: Wanted,
    *,
    entity_types: Sequence[str] = ENTITY_TYPES,
    caption_frames: int = 8,
    dimensions: Sequence[str] = tuple(DIMENSIONS),
) -> Models:
    """Adapters for every need; each is made, none is loaded. See the module for specs and errors.

    `entity_types` are those captions may use, `caption_frames` the most a captioner is shown of a segment, `dimensions` what it describes.
    """
    site = Site(wanted, _endpoint(wanted), tuple(entity_types), caption_frames, tuple(dimensions))
    chosen = [_chosen(need, site) for need in NEEDS]
    made = dict(zip(NEEDS, (adapter for _, adapter in chosen), strict=True))
    return Models(**made, picked=tuple(pick for pick, _ in chosen), endpoint=site.endpoint)


def picked(need: str, wanted: Wanted) -> Pick:
    """What `choose` would pick for one need, with the same errors."""
    return _chosen(need, Site(wanted, _endpoint(wanted), ENTITY_TYPES, 8))[0]


def _chosen(need: str, site: Site) -> tuple[Pick, Any]:
    spec = getattr(site.wanted, need).strip()
    match spec:
        case "none":
            return Pick(need, "none", "switched off"), None
        case "auto":
            return _automatic(need, site)
        case _:
            return _named(need, spec, site)


def _endpoint(wanted: Wanted) -> Endpoint | None:
    if not (wanted.openai_base_url or wanted.openai_api_key):
        return None
    return Endpoint(
        base_url=wanted.openai_base_url,
        api_key=wanted.openai_api_key,
        timeout_s=wanted.timeout_s,
        retries=wanted.retries,
    )


def _automatic(need: str, site: Site) -> tuple[Pick, Any]:
    """The first provider that is ready; what the better ones lack is told with it."""
    lacking: list[str] = []
    for name, provider in PROVIDERS[need].items():
        if not provider.automatic:
            continue
        lack = _lack(name, provider, site)
        if lack is None:
            order = _ready(provider, site)
            spec = f"{name}:{order.name}" if order.name else name
            return Pick(need, spec, "; ".join(["the best that is ready here", *lacking])), provider.make(order)
        lacking.append(lack)
    return Pick(need, "none", "; ".join(["nothing is ready", *lacking])), None


def _lack(name: str, provider: Provider, site: Site) -> str | None:
    """What keeps `auto` from a provider, with the way to change it; None when nothing does."""
    missing = _missing(provider)
    if missing:
        return f"{name} is not installed ({command(missing[0])})"
    if provider.setting:
        unset = site.endpoint is None or not getattr(site.wanted, provider.setting)
        return f"no endpoint with VGRAPH_MODELS__{provider.setting.upper()} is set" if unset else None
    if provider.package and not installed(provider.package):
        return f"{name} has no model on this disk (python -m spacy download {provider.package})"
    if provider.weights and cached(provider.hub or provider.default, provider.weights) is None:
        return f"{name} has no weights on this disk (name them: {name}:{provider.default})"
    return None


def _ready(provider: Provider, site: Site) -> Order:
    if provider.setting:
        model = getattr(site.wanted, provider.setting)
        return Order(model, model, site, on_disk=False)
    folder = cached(provider.hub or provider.default, provider.weights) if provider.weights else None
    return Order(folder or provider.default, provider.default, site, on_disk=folder is not None)


def _named(need: str, spec: str, site: Site) -> tuple[Pick, Any]:
    name, _, model = spec.partition(":")
    provider = _provider(need, name)
    missing = _missing(provider)
    if missing:
        raise MissingDependency(
            f"{need}: {spec} needs the package {missing[0]}", command=command(missing[0]), stage=need
        )
    if model and not provider.takes_model:
        raise UserError(f"{need}: {name} takes no model; write just {name}")
    if provider.setting:
        model = model or getattr(site.wanted, provider.setting) or ""
    else:
        model = model or provider.default
    if provider.takes_model and not model:
        place = f" or set VGRAPH_MODELS__{provider.setting.upper()}" if provider.setting else ""
        raise UserError(f"{need}: {name} needs a model; write {name}:MODEL{place}")
    order = _local_order(provider, model, site)
    full = f"{name}:{model}" if model else name
    return Pick(need, full, _named_reason(provider, order)), provider.make(order)


def _local_order(provider: Provider, model: str, site: Site) -> Order:
    """Weights that are on this disk are loaded from their folder, so that no hub is asked whether they are new."""
    hub = provider.hub if provider.hub and model == provider.default else model
    asked = bool(provider.weights) and not is_path(model)
    folder = cached(hub, provider.weights) if asked and "/" in hub else None
    on_disk = folder is not None or is_path(model)
    return Order(folder or model, "" if is_path(model) else model, site, on_disk=on_disk)


def _named_reason(provider: Provider, order: Order) -> str:
    if provider.weights and not order.on_disk:
        return "named in the settings; its weights are downloaded when first used"
    return "named in the settings"


def _provider(need: str, name: str) -> Provider:
    known = PROVIDERS[need]
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    accepted = ", ".join(["auto", "none", *(f"{each}{_form(provider)}" for each, provider in known.items())])
    raise UserError(f"VGRAPH_MODELS__{need.upper()}: {name!r} is no provider{hint} Accepted: {accepted}")


def _form(provider: Provider) -> str:
    return "[:MODEL]" if provider.setting or provider.default else ":MODEL" if provider.takes_model else ""


def _missing(provider: Provider) -> Sequence[str]:
    return [package for package in provider.packages if not installed(package)]
