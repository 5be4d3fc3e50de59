"""The one answer at the end of a run: from memory, the clips it rests on, and the best pictures (EGAgent, E16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vgraph.agents import showing
from vgraph.agents.answer import composed, extracted, nothing, schema, shown, without
from vgraph.agents.budget import OutOfBudget
from vgraph.agents.steps import Picture
from vgraph.agents.working import ANSWER_TOKENS, Run, Unanswered
from vgraph.models import ChatModel
from vgraph.retrieve.pack import moment, pack
from vgraph.types import Answer, Evidence, EvidenceChunk


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture for the answerer: what it is, and its JPEG bytes."""

    picture: Picture
    chunk: EvidenceChunk
    image: bytes


def conclude(run: Run) -> Answer:
    """Answer from what was seen. Where nothing was, no model is asked; where the budget allows no call, the evidence's own lines answer."""
    evidence, chat = gathered(run), run.kit.chat
    assert chat is not None
    method = f"model:{chat.name}"
    if not evidence.chunks:
        return _told(run, without(nothing(evidence), evidence, method))
    try:
        return _told(run, _by_model(run, chat, evidence, method))
    except OutOfBudget as end:
        run.partial = True
        run.warnings.append(f"no {end.step.what} were left for a model's answer: these are lines of the evidence")
    except Unanswered as fault:
        run.warnings.append(f"{fault}; these are lines of the evidence")
    return _told(run, extracted(evidence, run.toolbox.scope.sources.similarity, run.asked.choices))


def _by_model(run: Run, chat: ChatModel, evidence: Evidence, method: str) -> Answer:
    pictures = tuple(best_pictures(run, evidence)) if run.kit.see else ()
    model = run.kit.see if pictures and run.kit.see else chat
    listed = "\n".join(f"picture {n}: [{p.chunk.id}] {_when(p)}" for n, p in enumerate(pictures, 1))
    texts = replace(evidence, text=f"{evidence.text}\n{listed}" if listed else evidence.text)
    notes = (
        showing.memory(run.memory, run.kit.options.evidence_tokens // 2, run.outline)
        if run.memory or run.outline
        else ""
    )
    value = run.ask(
        "answerer", schema(run.asked.choices), model=model, images=[p.image for p in pictures], max_tokens=ANSWER_TOKENS, last=True,
        **shown(texts, run.asked.choices, notes, len(pictures)),
    )  # fmt: skip
    aliases = {item.id: item.chunks for item in run.items.values()}
    return composed(value, evidence, f"model:{model.name}" if pictures else method, run.asked.choices, aliases)


def _told(run: Run, made: Answer) -> Answer:
    return replace(made, question=run.question, partial=run.partial)


# --- what is shown ------------------------------------------------------------------------------------------------------


def gathered(run: Run) -> Evidence:
    """The evidence of a run: the clips memory rests on; of a run that kept nothing but was ended early, what it saw."""
    first = run.first
    assert first is not None
    if run.way == "direct":
        return first
    keys = list(dict.fromkeys(key for memory in reversed(run.memory) for key in memory.chunks))
    chunks = [run.seen[key] for key in keys if key in run.seen]
    if not chunks and run.partial:
        chunks = list(run.seen.values()) or list(first.chunks)
    packed = pack(chunks, (), run.kit.options.evidence_tokens // 2)
    return replace(
        first, question=run.question, hits=(), chunks=packed.chunks, relations=(), text=packed.text, tokens=packed.tokens,
        token_budget=run.kit.options.evidence_tokens, summaries=(), way=run.way,
    )  # fmt: skip


def best_pictures(run: Run, evidence: Evidence) -> Iterator[Shown]:
    """Pictures for whoever answers: those taken anew first, then those found by sight, then those stored of the clips."""
    chunks = {chunk.id: chunk for chunk in evidence.chunks}
    left = run.kit.options.frames
    for picture, image in _ranked(run, list(chunks.values())):
        shown_image = image if image is not None else run.kit.picture(picture.asset) if picture.asset else None
        if left and shown_image is not None and picture.chunk in chunks:
            left -= 1
            yield Shown(picture, chunks[picture.chunk], shown_image)


def _ranked(run: Run, chunks: Sequence[EvidenceChunk]) -> Iterator[tuple[Picture, bytes | None]]:
    looked = sorted(run.pictures.values(), key=lambda pair: (pair[1] is None, -(pair[0].score or 0), pair[0].at_ms))
    yield from looked
    known = {(picture.chunk, picture.offset_ms) for picture, _ in looked}
    for chunk in chunks:
        for offset_ms, asset in _spread(chunk.frames, 2):
            if (chunk.id, offset_ms) not in known:
                at_ms = chunk.start_ms - chunk.offset_ms + offset_ms
                yield Picture(chunk.id, chunk.camera, at_ms, offset_ms, asset), None


def _spread(frames: Sequence[tuple[int, str]], most: int) -> Sequence[tuple[int, str]]:
    """So many frames, evenly over the clip."""
    if len(frames) <= most:
        return frames
    return [frames[(2 * n + 1) * len(frames) // (2 * most)] for n in range(most)]


def _when(shown_picture: Shown) -> str:
    return f"camera {shown_picture.chunk.camera_label}, {moment(shown_picture.chunk, shown_picture.picture.offset_ms)}"
