"""vgraph for callers: one object over the rooms. Settings stop here; below, functions take plain values."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Unpack

import orjson

from vgraph.agents import Asked as Question
from vgraph.agents import Kit
from vgraph.agents import Options as AgentOptions
from vgraph.agents.budget import Limits as AgentLimits
from vgraph.agents.rules import answer_by_rules
from vgraph.agents.runs import Change
from vgraph.agents.session import Replayed, Session
from vgraph.agents.steps import AGENTS, Agent, FinalAnswer, Observation, Step
from vgraph.agents.steps import record as step_record
from vgraph.agents.tools import Scope, Toolbox, toolbox
from vgraph.agents.tools.rewinder import Rewinder
from vgraph.errors import MediaError, NotFoundError, UserError
from vgraph.ingest import Asked, Options, Site, Tools
from vgraph.ingest.calls import Budget, Gates, Price, Shared
from vgraph.ingest.check import check
from vgraph.ingest.clock import Anchor, Span
from vgraph.ingest.communities import ThemeOptions, WindowOptions, Writers, community_text
from vgraph.ingest.derive import DeriveOptions, DeriveReport, derive
from vgraph.ingest.estimate import Estimate, estimate
from vgraph.ingest.extract import Vocabulary, vocabulary
from vgraph.ingest.graph import embedded, entity_text
from vgraph.ingest.identity import Decided, Identification, IdentityOptions
from vgraph.ingest.keys import camera_key
from vgraph.ingest.live import Feed, Watch, named_sources, watch_all
from vgraph.ingest.moving import Moved
from vgraph.ingest.pipeline import NOTHING
from vgraph.ingest.retention import Expired, expire
from vgraph.ingest.run import Failed, Item, cameras_of, ingest_all
from vgraph.ingest.similar import SimilarOptions
from vgraph.ingest.timekeeping import FitReport, Timekeeping
from vgraph.media.assets import Assets
from vgraph.media.live import Limits, source_of
from vgraph.media.paths import checked_path
from vgraph.models import ChatModel, Embedder
from vgraph.models.captions import VisionCaptioner, spread
from vgraph.models.choose import Models, Pick, Wanted, choose
from vgraph.models.doctor import Check, doctor
from vgraph.models.training import LoraOptions, Trained, read_examples, train
from vgraph.retrieve import Profile, asked, retrieve
from vgraph.retrieve.analytics import ALLEN, Analytics
from vgraph.retrieve.bounds import moment, narrowed
from vgraph.retrieve.cascade import Form, RelationHit, RelationQuery, search_relations
from vgraph.retrieve.labels import Labelled, label, questions_of
from vgraph.retrieve.profiles import How, by_words
from vgraph.retrieve.relevance import Picture, Ratings
from vgraph.retrieve.search import Aids, QueryVectors
from vgraph.retrieve.sources import Sources
from vgraph.retrieve.trace import Stage, traced
from vgraph.settings import Settings
from vgraph.store import Store, connect
from vgraph.store.audit import Fault
from vgraph.store.copy import Copied, End, copy
from vgraph.store.run import QueryRun, noted
from vgraph.store.serving import serve
from vgraph.store.store import EmbeddingSpace, QueryResult
from vgraph.types import Answer, Evidence, EvidenceChunk, Filters, IngestReport, Progress, Subgraph

__all__ = [
    "ALLEN",
    "Advance",
    "Agent",
    "Analytics",
    "Anchor",
    "Change",
    "Check",
    "Decided",
    "Estimate",
    "Expired",
    "Explanation",
    "Failed",
    "Fault",
    "FinalAnswer",
    "FitReport",
    "How",
    "Identification",
    "LoraOptions",
    "Moved",
    "Observation",
    "Pick",
    "QueryRun",
    "RelationQuery",
    "Relations",
    "Replayed",
    "Span",
    "Stage",
    "Step",
    "Timekeeping",
    "VGraph",
    "diagnose",
    "moment",
    "step_record",
    "to_json",
    "train_intent",
]

Advance = Callable[[Progress], None]
"""Told how far long work has come."""

VIDEO_ENDINGS = frozenset(
    [".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".ts", ".mts", ".mpg", ".mpeg", ".flv", ".wmv", ".3gp", ".ogv"]
)


class VGraph:
    """The graph of one database with the models the settings choose.

    >>> with VGraph.open() as graph:                                                # doctest: +SKIP
    ...     for report in graph.ingest([Path("dock.mp4")], camera="dock"):
    ...         print(report.outcome)
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self._store = settings, store

    @classmethod
    def open(cls, settings: Settings | None = None) -> VGraph:
        """Open the database of the settings (default: environment, `.env`, `vgraph.toml`), making it when absent."""
        settings = settings or Settings.load()
        at = settings.database
        connection = connect(
            at.url, at.name, username=at.username, password=at.password.get_secret_value(), timeout_s=at.timeout_s
        )
        return cls(settings, Store.open(connection, settings.ingest.language, *settings.ingest.languages))

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> VGraph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- models ---------------------------------------------------------------------------------------------------------

    @cached_property
    def models(self) -> Models:
        """The models the settings choose; `models.picked` says which and why."""
        return self._choose(self._store.embedding("text"))

    def use_chat(self, chat: ChatModel) -> None:
        """Have questions answered by a chat model of one's own, in place of the one the settings choose."""
        self.__dict__["models"] = dataclasses.replace(self.models, chat=chat)

    def _choose(self, space: EmbeddingSpace | None) -> Models:
        """`auto` keeps the embedding model that filled the database, so that a better one that turns up does not shut it out."""
        wanted = _wanted(self.settings)
        if wanted.embed == "auto" and space is not None:
            wanted = dataclasses.replace(wanted, embed=space.spec)
        taken = self.settings.ingest
        return choose(
            wanted,
            entity_types=self._vocabulary.entity_types,
            caption_frames=taken.caption_frames,
            dimensions=taken.caption_dimensions,
        )

    @property
    def _vocabulary(self) -> Vocabulary:
        """The types that models may use: the preset's, or those set in their place."""
        taken = self.settings.ingest
        return vocabulary(
            taken.preset, taken.entity_types, taken.relation_types, taken.open_relations, taken.relation_synonyms
        )

    def _choose_anew(self) -> None:
        """Let go of the models chosen so far, and of what the database remembers of them."""
        for name in ("models", "_embedder", "_vectors", "_aids"):
            self.__dict__.pop(name, None)
        self.__dict__["models"] = self._choose(None)

    def _spec(self, need: str) -> str:
        return next(pick.spec for pick in self.picks if pick.need == need)

    @property
    def picks(self) -> tuple[Pick, ...]:
        return self.models.picked

    @cached_property
    def _embedder(self) -> Embedder:
        if self.models.embed is None:
            raise UserError(
                "VGRAPH_MODELS__EMBED=none: chunks are found by their embeddings; use auto, or name a model"
            )
        return self.models.embed

    @cached_property
    def _vectors(self) -> QueryVectors:
        self._store.claim_embedding("text", self._embedder.name, self._embedder.dimension, self._spec("embed"))
        return QueryVectors(self._embedder)

    @cached_property
    def assets(self) -> Assets:
        return Assets(self.settings.media.assets)

    # --- ingest ---------------------------------------------------------------------------------------------------------

    def ingest(
        self,
        paths: Iterable[Path | str],
        *,
        camera: str | None = None,
        camera_pattern: str | None = None,
        start: str | datetime | None = None,
        tz: str | None = None,
        tags: Sequence[str] = (),
        retry_failed: bool = False,
        report: Advance = lambda progress: None,
        failed: Failed | None = None,
        derived: Callable[[DeriveReport], None] = lambda done: None,
    ) -> Iterator[IngestReport]:
        """Bring video files (or every video of a folder) into the graph, several at once; a report each, as they are finished.

        At the end the graph derives what it can from what is new (see `derive`), which is told to `derived`.

        `start` is the time of the first frame: a datetime or ISO 8601 text, naive ones in `tz`. `camera_pattern` is a regular expression
        that finds the camera's name in a file's path (its group `camera`, else its first group, else all it matches). `tags` are
        added to the documents', to ask for later. With `retry_failed`
        only documents that a model failed on are made again, those of `paths` or all. A file that cannot be read is told to `failed` and
        passed over; without `failed` it raises MediaError. Raises BudgetReached when the cap of tokens or money allows no further call.
        """
        items = self._items(paths, camera, camera_pattern, start, tz, retry_failed, _tags(tags))
        site = self._site(report)
        yield from ingest_all(items, site, at_once=self.settings.flow.videos_at_once, failed=failed)
        derived(self._derive(site.shared, report))

    def watch(
        self,
        sources: Sequence[str],
        *,
        camera: str | None = None,
        start: str | datetime | None = None,
        tz: str | None = None,
        stop: threading.Event | None = None,
        report: Advance = lambda progress: None,
    ) -> Iterator[IngestReport]:
        """Read streams, growing files and folders that fill, until they end or `stop` is set; a report each piece.

        A source is an address (rtsp, http, HLS, udp) or a path, or `CAMERA=` with one; `camera` names the camera of a single one.
        `start` is when a file began that tells no time. Raises UserError for an address that may not be reached.
        """
        live, began = self.settings.live, None if start is None else moment(start, tz or "UTC")
        limits = Limits(
            live.allowed_hosts, self.settings.media.roots, live.connect_s, live.idle_s, live.backoff_s, live.longest_backoff_s,
            _ms(live.piece_s),
        )  # fmt: skip
        feeds = [Feed(source_of(text, limits), name, tz, began) for name, text in named_sources(sources, camera)]
        how = Watch(limits, live.waiting_pieces, live.keep_recordings, stop or threading.Event())
        site = self._site(report)
        yield from watch_all(feeds, site, how)
        self._derive(site.shared, report)

    def estimate(
        self,
        paths: Iterable[Path | str],
        *,
        camera: str | None = None,
        camera_pattern: str | None = None,
        start: str | datetime | None = None,
        tz: str | None = None,
        failed: Failed | None = None,
    ) -> Iterator[Estimate]:
        """What `ingest` of the same files would ask models and cost, a file at a time; nothing is asked and nothing is written."""
        site = self._site(lambda progress: None)
        for item in self._items(paths, camera, camera_pattern, start, tz, False):
            try:
                yield estimate(item.path, site, item.asked)
            except MediaError as error:
                if failed is None:
                    raise
                failed(item.path, error)

    def _items(
        self,
        paths: Iterable[Path | str],
        camera: str | None,
        camera_pattern: str | None,
        start: str | datetime | None,
        tz: str | None,
        retry_failed: bool,
        tags: tuple[str, ...] = (),
    ) -> list[Item]:
        _check_text("the camera's name", camera)
        start_ms = None if start is None else moment(start, tz or "UTC")
        videos = self._videos(paths, start_ms is not None)
        if retry_failed:
            return [
                Item(Path(row["uri"]), Asked(self._store_label(row["camera"]), None, tz, tags), again=True)
                for row in self._store.ledgers.failed_documents()
                if not videos or Path(row["uri"]) in videos
            ]
        named = cameras_of(videos, camera_pattern) if camera_pattern else [camera] * len(videos)
        return [Item(_text(path), Asked(name, start_ms, tz, tags)) for path, name in zip(videos, named, strict=True)]

    def _store_label(self, camera: str) -> str:
        return str((self._store.camera(camera) or {"label": camera})["label"])

    def ledger(self, document: str | None = None) -> list[dict[str, Any]]:
        """What model calls have cost: {document, stage, calls, failed, input_tokens, output_tokens, seconds, money}."""
        return self._store.ledgers.spent(document and self._document(document)["_key"])

    def _site(self, report: Advance) -> Site:
        return Site(self._store, self._tools(), self.assets, self._options(), self._shared(), report)

    def _shared(self) -> Shared:
        flow = self.settings.flow
        return Shared(
            Budget(flow.max_tokens, flow.max_money),
            Gates(flow.calls_at_once),
            _prices(self.settings),
            width=flow.calls_at_once,
            ahead=flow.segments_ahead,
        )

    def _videos(self, paths: Iterable[Path | str], dated: bool) -> list[Path]:
        roots = self.settings.media.roots
        named = [checked_path(video, roots) for path in paths for video in _files(checked_path(path, roots))]
        if dated and len(named) > 1:
            raise UserError(f"--start is the start of one video, not of {len(named)}")
        return list(dict.fromkeys(named))

    def _tools(self) -> Tools:
        models, embedder = self.models, self._embedder
        self._store.claim_embedding("text", embedder.name, embedder.dimension, self._spec("embed"))
        if models.image_embed:
            self._store.claim_embedding(
                "image", models.image_embed.name, models.image_embed.dimension, self._spec("image_embed")
            )
        return Tools(
            embedder,
            models.caption,
            models.transcribe,
            models.detect,
            models.read,
            models.image_embed,
            models.chat,
            models.diarize,
            None if models.chat else models.entities,
        )

    def derive(self, *, report: Advance = lambda progress: None) -> DeriveReport:
        """Link similar clips, summarise windows, find themes, wherever documents are new or changed; `ingest` does so at its end."""
        return self._derive(self._shared(), report)

    def _derive(self, shared: Shared, report: Advance) -> DeriveReport:
        self._store.claim_embedding("text", self._embedder.name, self._embedder.dimension, self._spec("embed"))
        chosen = self.settings.derive
        options = DeriveOptions(
            SimilarOptions(chosen.similar_eta, chosen.similar_top) if chosen.similar else None,
            _identity(self.settings) if self.settings.identity.enabled else None,
            WindowOptions(chosen.window_chunks, chosen.window_fanout) if chosen.windows else None,
            ThemeOptions(chosen.theme_members, chosen.theme_levels, chosen.theme_resolution) if chosen.themes else None,
        )
        writers = Writers(self._embedder, self.models.chat, chosen.summary_sentences, shared)
        return derive(self._store, options, writers, report)

    def _options(self) -> Options:
        media, taken, types = self.settings.media, self.settings.ingest, self._vocabulary
        return Options(
            burnt_in=taken.burnt_in_clock,
            subtitle_streams=media.subtitle_streams,
            segmenter=media.segmenter,
            window_ms=_ms(media.window_s),
            overlap_ms=_ms(media.overlap_s),
            scene_threshold=media.scene_threshold,
            scene_min_ms=_ms(media.scene_min_s),
            scene_max_ms=_ms(media.scene_max_s),
            event_every_ms=_ms(media.event_every_s),
            event_penalty=media.event_penalty,
            event_min_samples=media.event_min_samples,
            event_min_ms=_ms(media.event_min_s),
            event_max_ms=_ms(media.event_max_s),
            frame_every_ms=_ms(media.frame_every_s),
            scene_frames=media.scene_frames,
            frame_width=media.frame_width,
            jpeg_quality=media.jpeg_quality,
            caption_frames=taken.caption_frames,
            caption_hears=taken.caption_hears,
            draw_tracks=taken.draw_tracks,
            keep_drawn=taken.keep_drawn,
            read_every_ms=_ms(taken.read_every_s),
            detect_every_ms=_ms(taken.detect_every_s),
            track_looks=taken.track_looks,
            entity_types=types.entity_types,
            relation_types=types.relation_types,
            open_relations=types.open_relations,
            relation_synonyms=types.synonyms,
            fuse=taken.fuse,
            union=taken.union,
            temporal=taken.temporal,
            unit_ms=_ms(taken.unit_s),
            context_tokens=taken.context_tokens,
            reply_tokens=taken.reply_tokens,
            language=taken.language,
            batch_segments=taken.batch_segments,
        )

    # --- ask ------------------------------------------------------------------------------------------------------------

    def filters(
        self,
        *,
        cameras: Sequence[str] | None = None,
        documents: Sequence[str] | None = None,
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        not_after: str | datetime | None = None,
        places: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        entities: Sequence[str] | None = None,
        entity_types: Sequence[str] | None = None,
        relation_types: Sequence[str] | None = None,
        modalities: Sequence[str] | None = None,
        speakers: Sequence[str] | None = None,
        time_of_day: str | Sequence[int] | None = None,
        weekdays: Sequence[str | int] | None = None,
        as_of: str | datetime | None = None,
    ) -> Filters:
        """Filters from what people write: cameras by label or key, entities by name or key, times as ISO 8601 (naive ones in the cameras'
        zone), `time_of_day` such as `22:00-06:00`, weekdays by name or number (1 is Monday).

        Raises UserError for what cannot be read, NotFoundError for what the graph does not know; both say what can be given.
        """
        known = self._store.cameras()
        keys = None if cameras is None else tuple(_camera(name, known) for name in cameras)
        zones = {c["tz"] for c in known if keys is None or c["_key"] in keys}
        zone = zones.pop() if len(zones) == 1 else "UTC"
        times = (None if value is None else moment(value, zone) for value in (start, end, not_after, as_of))
        start_ms, end_ms, known_ms, learnt_ms = times
        if start_ms is not None and end_ms is not None and start_ms >= end_ms:
            raise UserError(f"nothing lies between {start} and {end}: the start must be before the end")
        for document in documents or ():
            self._document(document)
        self._check_terms(tags=tags, entity_types=entity_types, relation_types=relation_types, speakers=speakers)
        return Filters(
            keys, _tuple(documents), start_ms, end_ms, known_ms,
            places=None if places is None else tuple(_place(place, known) for place in places),
            tags=_tuple(tags),
            entities=None if entities is None else tuple(key for name in entities for key in self._entities(name)),
            entity_types=_tuple(entity_types), relation_types=_tuple(relation_types),
            modalities=None if modalities is None else asked.modalities(modalities), speakers=_tuple(speakers),
            time_of_day=None if time_of_day is None else asked.time_of_day(time_of_day),
            weekdays=None if weekdays is None else asked.weekdays(weekdays),
            as_of=learnt_ms,
        )  # fmt: skip

    def _check_terms(self, **terms: Sequence[str] | None) -> None:
        """Raise NotFoundError for a tag, type or speaker that nothing in the graph bears."""
        given = {name: values for name, values in terms.items() if values}
        unknown = self._store.unknown_terms(given) if given else {}
        for what, values in unknown.items():
            if values:
                raise NotFoundError(
                    f"nothing in the graph has {TERMS[what]} {values[0]!r}; {KNOWN[what]} shows which there are"
                )

    def _entities(self, name: str) -> list[str]:
        """Keys of the entities of a name or key."""
        found = self._store.identities.find(name)
        if not found:
            raise NotFoundError(f"no entity {name!r}; `vgraph entities list` shows who there is")
        return [row["_key"] for row in found]

    def search(self, question: str, filters: Filters | None = None, **how: Unpack[How]) -> Evidence:
        """Evidence for a question: chunks, entities and relations, packed within the token budget.

        `how` is any of the settings `retrieve.*` for this question alone, such as `profile` (how it enters the graph), `k`, `hops`.
        """
        _check_question(question)
        return retrieve(question, self._store, self._vectors, filters or Filters(), self._profile(how), self._aids)

    def explain(self, question: str, filters: Filters | None = None, **how: Unpack[How]) -> Explanation:
        """The evidence for a question, and how it was found: every step with its candidates and ms, every query to run again elsewhere."""
        with noted() as queries, traced() as stages:
            evidence = self.search(question, filters, **how)
        return Explanation(evidence, tuple(stages), tuple(queries))

    def subgraph(self, question: str, filters: Filters | None = None, **how: Unpack[How]) -> Subgraph:
        """The part of the graph around a question, as graph neural networks take it: nodes with features, typed edges, anchors.

        `how` as in `search`: `k` chunks and `entities` entities are the anchors, `hops` how far it goes, `graph_edges` along what,
        `eta` the least likeness, `graph_nodes` the most nodes. `vgraph.integrations` makes networkx and PyTorch Geometric of it.
        """
        how["profile"] = "graph"
        made = self.search(question, filters, **how).graph
        assert made is not None
        return dataclasses.replace(made, model=self._embedder.name)

    def relations(
        self, query: RelationQuery, filters: Filters | None = None, *, when: tuple[int | None, int | None] = (None, None),
        form: Form | None = None, enough: int | None = None,
    ) -> Relations:  # fmt: skip
        """Who has to do with whom and how: entity graph search, strict first and then ever more loosely (retrieve/cascade.py).

        `when` is the span asked about (UTC ms), which looser levels widen; nothing ever lies outside of `filters`. Every hit has the level
        that found it. Where no level finds any, `evidence` is what a search by meaning and words finds in its place. `form` and `enough`
        default to VGRAPH_RETRIEVE__CASCADE and VGRAPH_RETRIEVE__ENOUGH.
        """
        chosen = self.settings.retrieve.chosen(_given({"cascade": form, "enough": enough}))
        within, store = filters or Filters(), self._store
        span = narrowed(within, Filters(start_ms=when[0], end_ms=when[1]))
        words = " ".join(filter(None, (query.source, *(query.relations or ()), query.target)))
        found = search_relations(
            store, query, span, within=within, form=chosen.cascade, enough=chosen.enough, tz=self._zone(within),
            by_words=lambda wider: by_words(words, self._vectors(words), wider, store, chosen.k),
        )  # fmt: skip
        return Relations(found.hits, found.asked, None if found.hits else self.search(words, within, profile="chunks"))

    def _zone(self, filters: Filters) -> str:
        """The zone of the cameras that may be looked at; UTC where they have several."""
        zones = {zone for camera, zone in self.zones().items() if filters.cameras is None or camera in filters.cameras}
        return zones.pop() if len(zones) == 1 else "UTC"

    def label(
        self, questions: Path, out: Path, filters: Filters | None = None, *, by: Literal["frames", "captions"] = "frames",
        frames: int | None = None, report: Advance = lambda progress: None, **how: Unpack[How],
    ) -> Labelled:  # fmt: skip
        """Examples to train a rater by: what the questions of a file find, rated by the teacher (VGRAPH_MODELS__INTENT), added to `out`.

        Raises UserError without a teacher. Interrupted, what was rated is kept, and the same call goes on.
        """
        rater = self._aids.rater
        if rater is None:
            raise UserError("VGRAPH_MODELS__INTENT=none: a teacher has to be named, such as openai:MODEL")
        how["intent"] = "none"
        most = frames or self.settings.retrieve.intent_frames
        look = self._look if by == "frames" else None
        return label(
            questions_of(questions), out, lambda question: self.search(question, filters, **how).chunks, rater, look,
            frames=most, report=report,
        )  # fmt: skip

    @cached_property
    def _aids(self) -> Aids:
        """Models that better what was found, where they are configured."""
        rater = self.models.intent
        return Aids(
            self.models.rerank, None if rater is None else Ratings(rater), self._look, picture=self._picture_vector()
        )

    def _picture_vector(self) -> Callable[[str], Sequence[float]] | None:
        """Text to image: where a model makes vectors of pictures, and the graph has some."""
        images = self.models.image_embed if self._store.embedding("image") else None
        return None if images is None else lambda text: images.embed_texts([text])[0].tolist()

    def _look(self, chunk: EvidenceChunk, most: int) -> list[Picture]:
        """Pictures of a chunk in order of time: those that are kept; where there are none, from its recording. Raises MediaError."""
        kept = [(at, asset) for at, asset in chunk.frames if self.assets.path(asset).is_file()]
        if kept:
            return [(at, asset, self.assets.bytes(asset)) for at, asset in spread(kept, most)]
        rewound = Rewinder(None, self.settings.media.roots).rewind([chunk], chunk.start_ms, chunk.end_ms, most)
        return [(picture.offset_ms, None, picture.image) for picture in rewound]

    def ask(
        self, question: str, filters: Filters | None = None, *, agent: Agent | None = None, choices: Sequence[str] = (),
        follow: str | None = None, **how: Unpack[How],
    ) -> Answer:  # fmt: skip
        """An answer whose every claim cites evidence; without a chat model it comes by rules. See `run`."""
        for step in self.run(question, filters, agent=agent, choices=choices, follow=follow, **how):
            if isinstance(step, FinalAnswer):
                return step.answer
        raise AssertionError("a run ends with its answer")

    def run(
        self, question: str, filters: Filters | None = None, *, agent: Agent | None = None, choices: Sequence[str] = (),
        follow: str | None = None, **how: Unpack[How],
    ) -> Iterator[Step]:  # fmt: skip
        """The steps of answering a question, as they are made; the last is the FinalAnswer (agents/steps.py).

        `agent` is how it goes about (README, "Agents"; default: VGRAPH_AGENT__AGENT), `choices` the options of a multiple-choice question,
        `follow` the key of a run that the question goes on from, `how` as in `search`. Raises UserError and NotFoundError at once.
        """
        _check_question(question)
        if (chosen := agent or self.settings.agent.agent) not in AGENTS:
            raise UserError(f"agent {chosen!r} is not one of {', '.join(AGENTS)}")
        if choices and len(set(choices)) < 2:
            raise UserError("choices: give two or more, all different")
        _check_text("the choices", list(choices))
        asked = Question(question, chosen, filters or Filters(), tuple(choices), follow)
        return self._session(how).run(asked)

    def runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """The latest runs: {_key, question, agent, status, text, …}, without their steps."""
        return self._store.runs.listed(limit)

    def read_run(self, key: str) -> dict[str, Any]:
        """A run whole: {run, cited}. Raises NotFoundError."""
        found = self._store.runs.read(key)
        if found is None:
            raise NotFoundError(f"no run {key!r}; `vgraph runs list` shows them")
        return found

    def replay(self, key: str) -> Replayed:
        """A run again, with the replies its models gave and the tools asked anew, and what differs. Nothing is kept, no model is asked."""
        return self._session({}).replay(key)

    def compare_runs(self, first: str, second: str) -> tuple[Change, ...]:
        """How the steps of two runs differ."""
        return self._session({}).difference(first, second)

    def _session(self, how: How) -> Session:
        keep = self._store.runs.write if self.settings.agent.record else None
        models = {pick.need: pick.spec for pick in self.picks if pick.spec != "none"}
        return Session(self._kit(how), self._kept_run, keep, models)

    def _kept_run(self, key: str) -> dict[str, Any] | None:
        found = self._store.runs.read(key)
        return None if found is None else dict(found["run"])

    def _kit(self, how: How) -> Kit:
        how["pack"] = "text"  # whoever answers reads lines
        chosen, prices, captioner = self.settings.agent, self.settings.prices, self.models.caption
        limits = AgentLimits(
            chosen.max_steps,
            chosen.max_tokens,
            chosen.max_seconds,
            chosen.max_money,
            prices.chat_input,
            prices.chat_output,
        )
        options = AgentOptions(
            chosen.subtasks,
            chosen.max_depth,
            chosen.tries,
            chosen.verify,
            chosen.frames,
            chosen.evidence_tokens,
            chosen.route,
        )
        return Kit(
            self.toolbox(**how), lambda question, filters: self.search(question, filters, **how), self.models.chat, answer_by_rules,
            captioner.chat if isinstance(captioner, VisionCaptioner) else None, self._picture, limits=limits, options=options,
        )  # fmt: skip

    def _picture(self, asset: str) -> bytes | None:
        """A stored picture; None where its file is gone (`vgraph check` tells)."""
        try:
            return self.assets.bytes(asset)
        except NotFoundError:
            return None

    def toolbox(self, **how: Unpack[How]) -> Toolbox:
        """The tools of agents over this graph; they only read. `how` as in `search`."""
        images = self.models.image_embed if self._store.embedding("image") else None
        sources = Sources(self._store, lambda: self._vectors, self._profile(how), images, self._aids)
        scope = Scope(sources, rewinder=Rewinder(self.models.caption, self.settings.media.roots))
        return toolbox(scope, self.settings.agent.tools)

    def _profile(self, how: How) -> Profile:
        """How retrieval goes: the settings, and what was chosen for one question. None leaves a setting as it is."""
        chosen = self.settings.retrieve.chosen(_given(how)).model_dump()
        way, k, leg_k = chosen.pop("profile"), chosen.pop("k"), chosen.pop("leg_k")
        return Profile(way=way, k=k, leg_k=max(leg_k, k), **chosen)

    # --- the graph itself -----------------------------------------------------------------------------------------------

    def documents(self) -> list[dict[str, Any]]:
        return self._store.documents()

    def cameras(self) -> list[dict[str, Any]]:
        return self._store.cameras()

    def communities(
        self, *, kind: str | None = None, document: str | None = None, level: int | None = None, limit: int = 50
    ) -> list[dict[str, Any]]:
        """Summaries of windows of time and themes of entities, the highest level first. Raises NotFoundError for an unknown document."""
        if document is not None:
            self._document(document)
        return self._store.derived.communities(kind, document, level, limit)

    def clocks(self, *, report: Advance = lambda progress: None) -> Timekeeping:
        """The cameras' clocks: to look at, set, fit and reset; and the coverage of a span."""
        return Timekeeping(self._store, lambda: self.models.read, report)

    def identities(self, *, report: Advance = lambda progress: None) -> Identification:
        """Which entities are one: to look at, merge, split, confirm, reject and undo; and how cameras lie to one another."""
        return Identification(self._store, _identity(self.settings), report)

    @property
    def analytics(self) -> Analytics:
        """Who was where, when, with whom and for how long: timelines, journeys, co-presence, counts and more."""
        return Analytics(self._store)

    def camera_key(self, name: str) -> str:
        """The key of a camera by its label or key. Raises NotFoundError."""
        return _camera(name, self._store.cameras())

    def zones(self) -> dict[str, str]:
        """Camera key -> time zone."""
        return {camera["_key"]: camera["tz"] for camera in self._store.cameras()}

    def tag(self, document: str, add: Sequence[str] = (), *, remove: Sequence[str] = ()) -> list[str]:
        """Add and take away tags of a document; its tags now. Raises NotFoundError."""
        self._document(document)
        return self._store.tag(document, _tags(add), _tags(remove))

    def delete(self, document: str) -> dict[str, int]:
        """Remove a document, all that hangs on it and its frames; counts removed by collection."""
        deletion = self._store.removal.document(document, also=self.assets.delete)
        self._embed_entities(deletion.renamed)
        self._resolve()
        return dict(deletion.removed)

    def delete_camera(self, name: str) -> dict[str, int]:
        """Remove a camera, its documents and all that hangs on them; counts removed by collection."""
        camera = self.camera_key(name)
        removed: Counter[str] = Counter()
        for document in self._store.documents():
            if document["camera"] == camera:
                removed.update(self.delete(document["_key"]))
        removed.update(self._store.removal.camera(camera))
        return dict(removed)

    def keep(self, camera: str, keep_ms: int | None) -> None:
        """How long a camera's recordings are kept; None for ever. `expire` removes what is older."""
        self._store.removal.keep(self.camera_key(camera), keep_ms)

    def expire(self, now_ms: int | None = None) -> list[Expired]:
        """Remove what is older than its camera keeps it (`keep`), now or by a moment in UTC ms."""
        done = expire(self._store, self.assets, time.time_ns() // 1_000_000 if now_ms is None else now_ms)
        for expired in done:
            self._embed_entities(expired.renamed)
        self._resolve()
        return done

    def _resolve(self) -> None:
        """Whoever was one with somebody that is gone is to be told so at once."""
        if self.settings.identity.enabled:
            self.identities().resolve()

    def check(self, *, repair: bool = False) -> tuple[Fault, ...]:
        """What does not fit together in the graph and its assets folder; with `repair` what nothing owns is removed."""
        return check(self._store, self.assets, repair=repair)

    def _embed_entities(self, renamed: Sequence[Mapping[str, Any]]) -> None:
        """Entities whose name or description is no longer that of their embedding."""
        if renamed:
            self._vectors  # noqa: B018 - only the model that filled the database may write to it
            vectors = self._embedder.embed([entity_text(entity) for entity in renamed])
            self._store.write_entity_embeddings([embedded(e, v) for e, v in zip(renamed, vectors, strict=True)])

    def aql(self, query: str, binds: Mapping[str, Any] | None = None, *, limit: int = 1000) -> QueryResult:
        """Rows of a reading AQL query."""
        _check_text("the query", query)
        _check_text("a bind", binds)
        return self._store.aql(query, binds, limit=limit)

    def info(self) -> dict[str, Any]:
        """Where the graph lives, what made its vectors, how much is in it."""
        space = self._store.embedding("text")
        return {
            "url": self.settings.database.url,
            "database": self.settings.database.name,
            "arangodb": self._store.version(),
            "embedding": f"{space.model} ({space.dimension})" if space else None,
            "counts": self._store.counts(),
        }

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every record with its collection, streamed, in order of collection and key."""
        return self._store.export()

    def export(self, path: Path) -> int:
        """Write every record as a JSON line {collection, record}; the number written. The file appears whole or not at all."""
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}")
        if not path.name or (path.exists() and not path.is_file()):
            raise UserError(f"{path} is a folder or a device: name a file")
        part = path.with_name(f".{path.name}.part")
        count = 0
        try:
            with part.open("wb") as file:
                for collection, record in self.records():
                    line = {"collection": collection, "record": record}
                    file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
                    count += 1
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return count

    def reembed(self, *, report: Advance = lambda progress: None) -> int:
        """Embed all texts again with the model the settings choose now; the number of records. Interrupted, it is to be run again."""
        self._choose_anew()
        embedder = self._embedder
        self._store.begin_reembedding(embedder.name, embedder.dimension, self._spec("embed"))
        counts, done = self._store.counts(), 0
        for collection, text in EMBEDDED_TEXT.items():
            for page in self._store.texts(collection):
                vectors = embedder.embed([text(record) for record in page])
                records = [{"_key": r["_key"], "embedding": v.tolist()} for r, v in zip(page, vectors, strict=True)]
                self._store.write_embeddings(collection, records)
                done += len(page)
                report(Progress(collection, "embed", done, sum(counts[name] for name in EMBEDDED_TEXT), "records"))
        self._store.end_reembedding()
        return done

    def _document(self, key: str) -> dict[str, Any]:
        found = self._store.document(key)
        if found is None:
            raise NotFoundError(f"no document {key!r}; `vgraph documents` lists them")
        return found


TERMS = {
    "tags": "the tag",
    "entity_types": "the entity type",
    "relation_types": "the relation type",
    "speakers": "the speaker",
}
KNOWN = {
    "tags": "`vgraph documents`",
    "entity_types": "`vgraph entities list`",
    "relation_types": "`vgraph analytics interactions`",
    "speakers": "`vgraph aql 'FOR u IN utterances RETURN DISTINCT u.speaker'`",
}

LONGEST_QUESTION = 4_000
"""Characters."""

EMBEDDED_TEXT: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "chunks": lambda record: record["text"] or NOTHING,
    "entities": entity_text,
    "communities": community_text,
}
"""What is embedded of a record, by collection."""


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Evidence, the steps that led to it, and the queries that were run for it, each in order."""

    evidence: Evidence
    stages: tuple[Stage, ...]
    queries: tuple[QueryRun, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Relations:
    """What a search for relations found, strict levels first, and the levels it asked; `evidence` where they found nothing."""

    hits: tuple[RelationHit, ...]
    asked: tuple[str, ...]
    evidence: Evidence | None = None


def _given(how: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in how.items() if value is not None}


def train_intent(
    settings: Settings, labels: Path, out: Path, model: str, options: LoraOptions, *, report: Advance = lambda progress: None
) -> Trained:  # fmt: skip
    """Train a rater's adapter on examples (`label` makes them); see models/training.py. Needs the extra `train`."""
    chosen = settings.models
    return train(
        model, read_examples(labels), out, options, device=chosen.device, threads=chosen.threads, report=report
    )


def diagnose(settings: Settings) -> tuple[Check, ...]:
    """What is present, missing and chosen; see models/doctor.py."""
    return doctor(_wanted(settings))


def serve_database(
    settings: Settings,
    data: Path | None,
    *,
    host: str,
    port: int,
    password: str | None,
    jwt_secret_file: Path | None,
    listening: Callable[[str], None],
) -> None:
    """Serve an embedded database to any ArangoDB driver until interrupted; without `data`, the one of the settings."""
    url = settings.database.url
    if data is None and not url.startswith("embedded:"):
        raise UserError(f"--data: name a file; VGRAPH_DATABASE__URL={url!r} is a server already")
    file = data or Path(url.removeprefix("embedded:")).expanduser()
    secret = password or settings.database.password.get_secret_value() or None
    serve(file, host=host, port=port, password=secret, jwt_secret_file=jwt_secret_file, listening=listening)


def copy_database(
    settings: Settings,
    source: str,
    target: str,
    *,
    database: str | None = None,
    users: tuple[str | None, str | None] = (None, None),
    passwords: tuple[str | None, str | None] = (None, None),
    report: Advance = lambda progress: None,
) -> Copied:
    """Copy all databases, or one, from one ArangoDB or file to another; users and passwords (source, target) default to the settings'."""
    own = settings.database
    ours, theirs = (
        End(url, user or own.username, own.password.get_secret_value() if password is None else password)
        for url, user, password in zip((source, target), users, passwords, strict=True)
    )
    return copy(ours, theirs, database=database, report=report)


def _identity(settings: Settings) -> IdentityOptions:
    chosen = settings.identity.model_dump(exclude={"enabled", "again_s", "uncertainty_s"})
    again_ms, wrong_ms = _ms(settings.identity.again_s), _ms(settings.identity.uncertainty_s)
    return IdentityOptions(**chosen, again_ms=again_ms, uncertainty_ms=wrong_ms)


def _prices(settings: Settings) -> dict[str, Price]:
    """What a model call of a stage costs."""
    prices = settings.prices
    return {
        "caption": Price(prices.caption_input, prices.caption_output),
        "extract": Price(prices.chat_input, prices.chat_output),
        "summarise": Price(prices.chat_input, prices.chat_output),
        "embed": Price(prices.embed_input),
        "hear": Price(minute=prices.transcribe_minute),
    }


def _wanted(settings: Settings) -> Wanted:
    chosen = settings.models.model_dump()
    if settings.models.openai_api_key:
        chosen["openai_api_key"] = settings.models.openai_api_key.get_secret_value()
    return Wanted(**chosen)


def to_json(value: Any, *, indent: bool = True) -> str:
    """JSON of any result; paths become strings."""
    option = orjson.OPT_INDENT_2 if indent else 0
    return orjson.dumps(value, default=_plain, option=option).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not JSON")


def _tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags as they are kept. Raises UserError for one that is empty."""
    for tag in tags:
        _check_text("the tag", tag)
        if not tag.strip():
            raise UserError("a tag is empty: give a word, such as night")
    return tuple(sorted({tag.strip() for tag in tags}))


def _tuple(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _check_question(question: str) -> None:
    """Raise UserError for a question that is empty, too long, or no text."""
    if not question.strip():
        raise UserError("the question is empty")
    if len(question) > LONGEST_QUESTION:
        raise UserError(f"the question has {len(question)} characters; the most is {LONGEST_QUESTION}")
    _check_text("the question", question)


def _camera(name: str, known: Sequence[Mapping[str, Any]]) -> str:
    wanted = camera_key(name)
    for camera in known:
        if name in (camera["_key"], camera["label"]) or camera["_key"] == wanted:
            return str(camera["_key"])
    labels = ", ".join(camera["label"] for camera in known) or "none yet"
    raise NotFoundError(f"no camera {name!r}; there are: {labels}")


def _place(name: str, known: Sequence[Mapping[str, Any]]) -> str:
    """A place as the cameras bear it. Raises NotFoundError."""
    places = sorted({camera["place"] for camera in known if camera["place"]})
    for place in places:
        if place.casefold() == name.strip().casefold():
            return str(place)
    raise NotFoundError(f"no camera's place is {name!r}; there are: {', '.join(places) or 'none yet'}")


def _files(path: Path) -> list[Path]:
    """A file as it is, a folder as its videos in order of name."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in VIDEO_ENDINGS and file.is_file())
    if not found:
        raise UserError(f"{path}: no video in this folder (looked for {', '.join(sorted(VIDEO_ENDINGS))})")
    return found


def _text(path: Path) -> Path:
    """The path, if it can be kept in the graph; MediaError for a name that is not text."""
    try:
        _check_text("the name", str(path))
    except UserError as error:
        raise MediaError(f"{str(path)!r}: {error}; rename the file", path=str(path)) from None
    return path


def _check_text(what: str, value: Any) -> None:
    """Raise UserError for what no JSON can say: bytes of a command line that are not UTF-8 (lone surrogates), numbers beyond 64 bits."""
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise UserError(f"{what} cannot be used: {error}") from None


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
