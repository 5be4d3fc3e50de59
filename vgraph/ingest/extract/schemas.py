"""JSON Schemas of the replies that extraction asks for: closed and complete, as constrained decoding demands."""

from __future__ import annotations

from typing import Any, Final

from vgraph.ingest.extract.vocabulary import Vocabulary

TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "number"}
COUNT: Final = {"type": "integer"}


def extraction(vocabulary: Vocabulary) -> dict[str, Any]:
    """Entities and relations; only the configured types pass."""
    relation = TEXT if vocabulary.is_open else {"type": "string", "enum": list(vocabulary.relations)}
    entity = closed(
        name=TEXT, type={"type": "string", "enum": list(vocabulary.entity_types)}, description=TEXT
    )  # fmt: skip
    stated = closed(source=TEXT, relation=relation, target=TEXT, note=COUNT, supporting_text=TEXT, confidence=NUMBER)
    return closed(entities=listed(entity), relations=listed(stated))


def closed(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def listed(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


INTERVALS: Final = closed(
    intervals=listed(closed(relation=COUNT, start=NUMBER, end=NUMBER, confidence=NUMBER, reason=TEXT))
)
SENTENCES: Final = closed(sentences=listed(closed(text=TEXT, notes=listed(COUNT))))
