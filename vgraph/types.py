"""What flows through vgraph: plain frozen values, from a video file to a cited answer.

    Video -> Segment -> Caption | Utterance | Detection | TextRead -> Chunk -> Extraction -> GraphDelta
    Question -> Hit -> Evidence -> Answer(claims with citations)

Units: `*_ms` are integer milliseconds. `start_ms`, `end_ms` and `at_ms` are UTC since 1970 in graph records; `offset_ms` and
`end_offset_ms` are media time, from presentation timestamps, 0 at the first frame. Intervals are half open. Boxes are pixels of
the displayed (rotated) frame. Nothing here imports a heavy library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# --- media --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VideoTrack:
    """The picture stream of a file. `fps` is the average rate; `variable_rate` says that frame distances differ."""

    codec: str
    width: int
    height: int
    rotation: int
    fps: float
    variable_rate: bool
    frames: int | None


@dataclass(frozen=True, slots=True)
class AudioTrack:
    codec: str
    sample_rate: int
    channels: int
    language: str | None


class StartSource(StrEnum):
    """Where a document's start time came from, in order of trust; `arrival`: a stream, stamped here as it came."""

    flag = "flag"
    sidecar = "sidecar"
    timecode = "timecode"
    container = "container"
    burnt_in = "burnt_in"
    arrival = "arrival"
    file_name = "file_name"
    unknown = "unknown"


@dataclass(frozen=True, slots=True)
class StartTime:
    """When the first frame was recorded (ms) and how that is known; `unknown` counts from 1970-01-01T00:00Z.

    By `flag` it is UTC, by any other source what the camera's clock said; `tz` is the zone it was read in, None where the source names
    its own. `uncertainty_ms` is how far it may be off where that is known better than by its source. `drift_ppm` is how much faster than
    media time the camera's clock was seen to run.
    """

    ms: int
    source: StartSource
    tz: str | None = None
    uncertainty_ms: int | None = None
    drift_ppm: float = 0.0


@dataclass(frozen=True, slots=True)
class Video:
    """A probed recording. `content_hash` is SHA-256 of the file's bytes (hex), `timecode` the SMPTE timecode of its first picture."""

    path: Path
    content_hash: str
    size: int
    container: str
    duration_ms: int
    picture: VideoTrack
    audio: AudioTrack | None
    created_ms: int | None
    warnings: tuple[str, ...] = ()
    timecode: str | None = None


Boundary = Literal["window", "scene", "event", "subtitle"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A slice of a video, `[offset_ms, end_offset_ms)` in media time; `boundary` says what cut it.

    `window`: a fixed length; `scene`: a cut in the content; `event`: a change point; `subtitle`: the edge of something said.
    """

    index: int
    offset_ms: int
    end_offset_ms: int
    boundary: Boundary


@dataclass(frozen=True, slots=True)
class Frame:
    """A decoded picture: `image` is uint8 RGB of shape (height, width, 3), rotation applied."""

    offset_ms: int
    image: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """A frame kept as a JPEG; `asset` is its path relative to the asset folder."""

    offset_ms: int
    asset: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class AudioPiece:
    """Mono float32 samples in [-1, 1] at `sample_rate` Hz, the first at `offset_ms` of the media."""

    offset_ms: int
    samples: NDArray[np.float32]
    sample_rate: int = 16_000


# --- what is seen, heard and given --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Named:
    """Something a text names: `label` is what it is (person, organisation, location, event, date), empty for a noun.

    `words` are its words in their dictionary form, lower case, without article and number.
    """

    text: str
    label: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named by a caption or found by extraction. `id` is a stable identity where the source knows one.

    `described_offset_ms`: when all that the description may rest on had been recorded; None: with the chunk that holds the mention.
    """

    name: str
    type: str
    id: str | None = None
    description: str = ""
    confidence: float = 1.0
    described_offset_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """source -relation-> target by name; offsets are media time, None means the whole caption or chunk.

    `ends` says which entities of these names are meant, where the source knows. `method` is `structured` or `model:<name>`; `sources` are
    the graphs that state it: structured, fused, transcript. `known_offset_ms`: when all that it rests on had been recorded, where that is
    later than its chunk. `time_confidence` and `time_reason` come from a model that was asked when it held.
    """

    source: str
    target: str
    relation: str
    offset_ms: int | None = None
    end_offset_ms: int | None = None
    supporting_text: str = ""
    confidence: float = 1.0
    ends: tuple[Mention | None, Mention | None] = (None, None)
    method: str = ""
    sources: tuple[str, ...] = ()
    known_offset_ms: int | None = None
    time_confidence: float | None = None
    time_reason: str = ""


@dataclass(frozen=True, slots=True)
class Caption:
    """A description of a stretch of video. `origin` names the model, or `given` for captions from a sidecar.

    `dimensions` are (name, text) along which a model described it (time, location, characters, events, scene, summary); `text` is made
    of them. `warning` says what is wrong with it where the model did not answer as it was asked to.
    """

    offset_ms: int
    end_offset_ms: int
    text: str
    origin: str
    entities: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    dimensions: tuple[tuple[str, str], ...] = ()
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    offset_ms: int
    end_offset_ms: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said by one speaker without a break."""

    offset_ms: int
    end_offset_ms: int
    text: str
    origin: str
    speaker: str | None = None
    language: str | None = None
    confidence: float = 1.0
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """Somebody speaks from `offset_ms` to `end_offset_ms`; turns of different speakers may overlap."""

    offset_ms: int
    end_offset_ms: int
    speaker: str


@dataclass(frozen=True, slots=True)
class Diarized:
    """Who speaks when in one piece of sound, under labels of that piece; `voices` maps a label to its embedding, where there is one."""

    turns: tuple[Turn, ...]
    voices: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Detection:
    """An object in one frame; `track` joins detections of one object where the source or a tracker knows it."""

    offset_ms: int
    label: str
    box: Box
    confidence: float
    origin: str
    track: str | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """One object followed over time: its detections in order of time. `label` is the commonest class.

    `embedding` is what it looks like: the mean of its crops in the image-text space, L2-normalised; None without an image embedder.
    `number` is its place among the tracks of its document, from 1: what is drawn onto pictures.
    """

    id: str
    label: str
    detections: tuple[Detection, ...]
    embedding: tuple[float, ...] | None = None
    number: int = 0

    @property
    def offset_ms(self) -> int:
        return self.detections[0].offset_ms

    @property
    def end_offset_ms(self) -> int:
        return self.detections[-1].offset_ms

    @property
    def confidence(self) -> float:
        return sum(d.confidence for d in self.detections) / len(self.detections)


@dataclass(frozen=True, slots=True)
class Mark:
    """A track as it is drawn onto pictures: `#number`, its class, the name of its confirmed identity where there is one.

    `id` and `type` are those of the entity that the track depicts.
    """

    number: int
    track: str
    label: str
    name: str = ""
    id: str | None = None
    type: str = "object"


@dataclass(frozen=True, slots=True)
class TextRead:
    """Text read off a frame (OCR)."""

    offset_ms: int
    text: str
    box: Box
    confidence: float
    origin: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities and relations of one chunk. `method` is `model:<name>` or `structured` (no model: the given signals).

    `failed`: a model was asked and gave nothing usable for a part of it, so that asking again later may give more. What was beyond the
    model's limits is told in the warnings alone: asking the same again does not help.
    """

    entities: tuple[Mention, ...]
    relations: tuple[Relation, ...]
    method: str
    warnings: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class CameraInfo:
    """A point of view as its operator describes it. `clock_offset_ms` is added to recorded times to give UTC.

    None says nothing, and leaves what is known of the camera's zone and clock as it is.
    """

    label: str
    place: str = ""
    tz: str | None = None
    clock_offset_ms: int | None = None
    position: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Sidecars:
    """Everything found beside a video, parsed; `warnings` tell which lines were skipped and why."""

    camera: CameraInfo | None = None
    start_ms: int | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    captions: tuple[Caption, ...] = ()
    utterances: tuple[Utterance, ...] = ()
    detections: Sequence[Detection] = ()
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()


Modality = Literal["caption", "speech", "ocr", "detection", "fused"]
"""The sense a statement comes from; `fused`: a model wrote it from several."""


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a chunk's text with its own interval: the grain at which claims are cited."""

    offset_ms: int
    end_offset_ms: int
    modality: Modality
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long operation has come; `total` is None while unknown."""

    subject: str
    stage: str
    done: int
    total: int | None
    unit: str = "segments"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingest did. `outcome`: ingested, resumed (an interrupted one was finished) or unchanged (it was all there)."""

    document: str
    camera: str
    title: str
    outcome: Literal["ingested", "resumed", "unchanged"]
    chunks: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    spent: Mapping[str, Spent] = field(default_factory=dict)
    """What this run's model calls cost, by stage."""


# --- the graph ----------------------------------------------------------------------------------------------------------

Record = Mapping[str, Any]
"""A vertex or edge as ArangoDB stores it: `_key`, for edges `_from` and `_to`, then the attributes of design.md."""


@dataclass(frozen=True, slots=True)
class GraphDelta:
    """What one step of ingest adds: records by collection name. Applying the same delta again changes nothing.

    `vertices` and `edges` map a collection to its records. Entities are merged (times widen, names and cameras unite), everything else
    is replaced by key.
    """

    vertices: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    edges: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)


# --- asking -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be looked at; None leaves a side open, and all sides given have to hold.

    `start_ms`/`end_ms` keep what overlaps [start_ms, end_ms). `not_after`: nothing recorded later in the world has any influence, UTC ms;
    `as_of`: nothing that the graph learnt later has, UTC ms. `places` are those of cameras, `tags` those of documents. A chunk passes
    `entities` (keys or ids) and `entity_types` that mentions one of them, `relation_types` that states one, `modalities` that has a line of
    one, `speakers` in which one of them speaks. `time_of_day`: minutes of the day [from, to) in the camera's zone, over midnight where
    `to` is not later; `weekdays`: 1 (Monday) to 7, in the camera's zone. See store/narrowing.py for what else passes.
    """

    cameras: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    not_after: int | None = None
    places: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    relation_types: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    speakers: tuple[str, ...] | None = None
    time_of_day: tuple[int, int] | None = None
    weekdays: tuple[int, ...] | None = None
    as_of: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found by a query. `ranks` gives its place (from 1) in each leg that found it; `score` is the fused score.

    `scores`: what the legs and a reranker gave it, where that is known; `level`: the level of a search for relations that found it.
    """

    chunk: str
    score: float
    ranks: Mapping[str, int]
    scores: Mapping[str, float] = field(default_factory=dict)
    level: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceChunk:
    """A chunk as evidence, in the file `uri`, which begins at `base_ms` of the document's media time.

    `via` says how it was reached: `hit`, `hop:<n>`, `neighbour`.

    Without `clock_known` nobody knows when the recording began, and only its media offsets mean anything.
    """

    id: str
    document: str
    camera: str
    camera_label: str
    index: int
    start_ms: int
    end_ms: int
    offset_ms: int
    end_offset_ms: int
    text: str
    lines: tuple[Line, ...]
    frames: tuple[tuple[int, str], ...]
    uri: str
    tz: str
    clock_known: bool
    score: float
    via: str
    origins: Mapping[str, str]
    base_ms: int = 0


@dataclass(frozen=True, slots=True)
class EvidenceEntity:
    id: str
    name: str
    type: str
    description: str
    first_ms: int
    last_ms: int
    cameras: tuple[str, ...]
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvidenceRelation:
    id: str
    source: str
    source_name: str
    target: str
    target_name: str
    relation: str
    start_ms: int
    end_ms: int
    camera: str
    chunk: str
    supporting_text: str
    confidence: float
    hop: int
    level: str = ""
    """The level of a search for relations that found it (retrieve/cascade.py)."""


@dataclass(frozen=True, slots=True)
class Rating:
    """How much a frame of a chunk (`offset_ms`, `asset` where it is kept), or without `offset_ms` its text, bears on a question, 1 to 5.

    `levels` are the probabilities of the five levels, `score` the level to expect (VideoStir, section "intent"). None: the model gave no
    usable reply, and the frame was neither kept nor dropped for it.
    """

    chunk: str
    offset_ms: int | None
    asset: str | None
    score: float | None
    levels: tuple[float, ...] = ()
    kept: bool = True


@dataclass(frozen=True, slots=True)
class SubgraphNode:
    """A vertex of a subgraph: `features` is its embedding, None where it has none or where it may tell what was known only later.

    `hop` is its distance from the nearest anchor, `score` that of an anchor; times are UTC ms, None for what has none.
    """

    id: str
    kind: str
    text: str
    features: tuple[float, ...] | None
    hop: int
    score: float = 0.0
    start_ms: int | None = None
    end_ms: int | None = None
    camera: str | None = None


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of the graph around a question, as graph neural networks take it.

    Nodes have numbers, their places in `nodes`. `edge_index` is 2 x E: sources, then targets; `edge_type` E numbers into
    `relation_types`, which are collections and, for edges of LINKS_TO, their relation; `edge_attributes` E rows of `edge_attribute_names`
    (weight and confidence, 1 where an edge has none, and its times in seconds from `origin_ms`, 0 where it has none); `edge_ids` and
    `edge_texts` what they are and what they say.
    `anchors` are numbers of nodes; `vector` is the question in the space of the features.
    """

    question: str
    vector: tuple[float, ...]
    nodes: tuple[SubgraphNode, ...]
    relation_types: tuple[str, ...]
    edge_index: tuple[tuple[int, ...], tuple[int, ...]]
    edge_type: tuple[int, ...]
    edge_attribute_names: tuple[str, ...]
    edge_attributes: tuple[tuple[float, ...], ...]
    edge_ids: tuple[str, ...]
    edge_texts: tuple[str, ...]
    anchors: tuple[int, ...]
    origin_ms: int = 0
    dimension: int = 0
    model: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceSummary:
    """A summary that led to evidence. `method` says whether a model wrote it (`model:<name>`) or it is `extractive`."""

    id: str
    kind: str
    level: int
    title: str
    summary: str
    method: str
    cameras: tuple[str, ...]
    start_ms: int
    end_ms: int


QuestionKind = Literal[
    "who", "when", "where", "what", "how_long", "how_many", "before_after", "together", "sequence", "yes_no"
]


@dataclass(frozen=True, slots=True)
class Around:
    """An event a question is asked around: what happened before, after or during it; `what` tells it in the question's words."""

    how: Literal["before", "after", "during"]
    what: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The event of an Around as it was found: when it was, and by which chunk it is told. It leaves the rest of the question its time."""

    start_ms: int
    end_ms: int
    camera: str
    chunk: str
    told: str


@dataclass(frozen=True, slots=True)
class Meant:
    """Whom or what words of a question name: keys of entities (`cameras/…` for a camera), several where the words fit several."""

    phrase: str
    name: str
    type: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What was understood of a question. `time` are the words that name a time, `subject` is the question without them.

    `form` is what the rules take it for, `verb` with its `senses` what is done, `named` who and what stands in it, `unknown` what no entity
    is called, `asked` the kind of what is asked for. `event` is what the question is asked around, where it was found. `by` says who
    understood it so: `rules`, or `model:<name>`; `notes` what went wrong.
    """

    kind: QuestionKind
    subject: str
    cameras: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    time: str = ""
    around: Around | None = None
    event: Occurrence | None = None
    form: str = ""
    verb: str = ""
    senses: tuple[str, ...] = ()
    named: tuple[Meant, ...] = ()
    unknown: tuple[str, ...] = ()
    asked: str = ""
    by: str = "rules"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What retrieval found for a question, packed within `token_budget` tokens as `text`; every line carries its id."""

    question: str
    filters: Filters
    hits: tuple[Hit, ...]
    chunks: tuple[EvidenceChunk, ...]
    entities: tuple[EvidenceEntity, ...]
    relations: tuple[EvidenceRelation, ...]
    text: str
    tokens: int
    token_budget: int
    recorded: tuple[tuple[str, int, int], ...] = ()
    """Coverage of the asked cameras and time: (camera, start_ms, end_ms). Empty when nothing was recorded then."""
    understood: Interpretation | None = None
    summaries: tuple[EvidenceSummary, ...] = ()
    way: str = "chunks"
    """How the question entered the graph; see retrieve/profiles.py."""
    levels: tuple[str, ...] = ()
    """The levels that a search for relations asked, strict ones first; `hits` and `relations` tell which level found them."""
    ratings: tuple[Rating, ...] = ()
    """What a rater made of frames or captions; those below the threshold led to what is not in `chunks` any more."""
    graph: Subgraph | None = None
    """The subgraph around the question, of the profile `graph`."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a claim can be checked: the clip `uri` from `offset_ms` to `end_offset_ms`, seen by `camera` at `start_ms` UTC.

    Without `clock_known` the time is not known, and `start_ms` only counts from 1970.
    """

    chunk: str
    document: str
    camera: str
    camera_label: str
    start_ms: int
    end_ms: int
    offset_ms: int
    end_offset_ms: int
    uri: str
    frame: str | None
    quote: str = ""
    clock_known: bool = True


Support = Literal["supports", "contradicts", "unclear"]
"""What cited footage says of a claim when it is looked at again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with what it rests on. `support` is what looking again said of it, and `reason` why; None: nobody looked."""

    text: str
    citations: tuple[Citation, ...]
    support: Support | None = None
    reason: str = ""


class AnswerStatus(StrEnum):
    """`not_found`: recorded, but no evidence. `not_recorded`: no camera covers the time asked.

    `unsupported`: a model answered, but nothing it said cites evidence that exists.
    """

    answered = "answered"
    unsupported = "unsupported"
    not_found = "not_found"
    not_recorded = "not_recorded"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent, as the endpoint counted them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Spent:
    """What model calls cost: how many were made and failed, tokens, seconds of waiting, money by the prices that were set."""

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    money: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.failed + other.failed,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
            self.money + other.money,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """`method` is `model:<name>`, `extractive` (no model wrote it: sentences of the evidence) or `rules` (worked out by queries).

    `confidence` is from 0 to 1, None where nobody rated it. `choice` is the option chosen of a multiple-choice question. `partial`: the
    budget was spent before the work was done. `run` is the key under which the run is kept in the graph. `spent` is what model calls cost,
    by worker.
    """

    question: str
    status: AnswerStatus
    text: str
    claims: tuple[Claim, ...]
    method: str
    evidence: Evidence
    warnings: tuple[str, ...] = ()
    usage: Usage = Usage()
    confidence: float | None = None
    choice: str | None = None
    partial: bool = False
    run: str | None = None
    spent: Mapping[str, Spent] = field(default_factory=dict)


# --- talking to models --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `images` are JPEG bytes shown with the text."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    images: tuple[bytes, ...] = ()
    tool_call: str | None = None
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's reply; `value` is the parsed JSON when a schema was asked for. `truncated`: the text stops at the token limit."""

    text: str
    value: Any = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    truncated: bool = False
