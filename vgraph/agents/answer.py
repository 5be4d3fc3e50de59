"""Question -> Answer: claims that each cite evidence which exists, or a plain word that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vgraph.agents.cite import best_line, cite
from vgraph.agents.extractive import Similarity, extract_claims
from vgraph.models import ChatModel
from vgraph.prompts import prompt, quoted
from vgraph.types import Answer, AnswerStatus, Claim, Completion, Evidence, EvidenceChunk, Message

EXTRACTIVE = "extractive"
NOT_COVERED = (
    "Not found: no statement of the evidence covers the question. "
    "Without a chat model, counting, order and reasoning are beyond it."
)
EMPTY = "Not recorded: the graph holds no recording of the cameras asked about."
TEXTS = {
    AnswerStatus.not_found: "Not found: nothing recorded answers this.",
    AnswerStatus.not_recorded: "Not recorded: no camera asked about covers that time.",
    AnswerStatus.unsupported: "No statement could be supported by what was recorded.",
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "evidence": {"type": "array", "items": {"type": "string"}}},
                "required": ["text", "evidence"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}


def answer(evidence: Evidence, chat: ChatModel | None = None, similarity: Similarity | None = None) -> Answer:
    """Answer from evidence alone: by `chat` with its citations checked, else with the evidence's own lines, marked extractive.

    Raises ModelError when the chat model fails for good; nothing is answered in its place.
    """
    method = f"model:{chat.name}" if chat else EXTRACTIVE
    if not evidence.chunks:
        return _without(_nothing(evidence), evidence, method)
    if chat is not None:
        return _by_model(chat, evidence, method)
    claims = extract_claims(evidence, similarity)
    return _with(claims, evidence, method) if claims else _without(_nothing(evidence), evidence, method)


def _nothing(evidence: Evidence) -> AnswerStatus:
    """Why there is no answer: nobody recorded, or somebody did and it is not there."""
    return AnswerStatus.not_found if evidence.recorded else AnswerStatus.not_recorded


def _by_model(chat: ChatModel, evidence: Evidence, method: str) -> Answer:
    completion = chat.complete(_messages(evidence), schema=SCHEMA)
    claims, warnings = checked(completion, evidence)
    proposed = bool(completion.value["claims"])
    if claims:
        made = _with(claims, evidence, method)
    else:
        made = _without(AnswerStatus.unsupported if proposed else _nothing(evidence), evidence, method)
    return Answer(made.question, made.status, made.text, made.claims, method, evidence, warnings, completion.usage)


def _messages(evidence: Evidence) -> list[Message]:
    zones = ", ".join(sorted({chunk.tz for chunk in evidence.chunks}))
    text = prompt("answer", timezone=zones, question=quoted(evidence.question), evidence=quoted(evidence.text))
    return [Message("user", text)]


def checked(completion: Completion, evidence: Evidence) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims whose citations exist in the evidence; a claim without any is dropped and a warning says so."""
    chunks = {chunk.id: chunk for chunk in evidence.chunks}
    kept, warnings = [], []
    for item in completion.value["claims"]:
        cited = [chunks[i] for i in dict.fromkeys(_bare(i) for i in item["evidence"]) if i in chunks]
        unknown = [i for i in item["evidence"] if _bare(i) not in chunks]
        if unknown:
            warnings.append(f"the model cited evidence that does not exist: {', '.join(unknown)}")
        if cited and item["text"].strip():
            kept.append(_claim(item["text"].strip(), cited))
        else:
            warnings.append(f"dropped a claim without evidence: {item['text'].strip()[:120]!r}")
    return tuple(kept), tuple(warnings)


def _bare(identifier: str) -> str:
    return identifier.strip().strip("[]").removeprefix("chunks/")


def _claim(text: str, chunks: list[EvidenceChunk]) -> Claim:
    return Claim(text, tuple(cite(chunk, best_line(chunk, text)) for chunk in chunks))


def _with(claims: tuple[Claim, ...], evidence: Evidence, method: str) -> Answer:
    return Answer(evidence.question, AnswerStatus.answered, "\n".join(c.text for c in claims), claims, method, evidence)


def _without(status: AnswerStatus, evidence: Evidence, method: str) -> Answer:
    text = TEXTS[status]
    if status is AnswerStatus.not_found and method == EXTRACTIVE:
        text = NOT_COVERED
    if status is AnswerStatus.not_recorded and evidence.filters.start_ms is None and evidence.filters.end_ms is None:
        text = EMPTY
    return Answer(evidence.question, status, text, (), method, evidence)
