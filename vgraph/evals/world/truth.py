"""The whole truth of a script as plain JSON values. Times are UTC ms; `offset_ms` is media time within a recording."""

from __future__ import annotations

import datetime
from itertools import combinations, pairwise
from math import hypot
from typing import Any

from vgraph.evals.world.director import WALK_M_S
from vgraph.evals.world.phrases import relations
from vgraph.evals.world.questions import Question, asked_of
from vgraph.evals.world.scene import PERSON_HEIGHT, PERSON_WIDTH, VEHICLE_HEIGHT, Picture, Presence, Scene
from vgraph.evals.world.script import Action, Camera
from vgraph.evals.world.site import ZONES, Vehicle, routed

FORMAT = 1

Json = dict[str, Any]


def truth(scene: Scene, picture: Picture, questions: int) -> Json:
    script = scene.script
    return {
        "format": FORMAT,
        "note": "exact truth of a synthetic world: for measuring only, never given to what is measured",
        "seed": script.seed,
        "start": _iso(script.start_ms),
        "start_ms": script.start_ms,
        "end_ms": script.end_ms,
        "tz": script.tz,
        "picture": {"width": picture.width, "height": picture.height, "fps": picture.fps},
        "zones": [{"id": zone.id, "name": zone.name} for zone in ZONES.values()],
        "cameras": [_camera(scene, camera) for camera in script.cameras],
        "travel": _travel(script.cameras),
        "people": [
            {"id": p.id, "name": p.name, "role": p.role, "jacket": p.jacket, "voice": p.voice} for p in script.people
        ],
        "vehicles": [
            {"id": v.id, "name": v.name, "kind": v.kind, "colour": v.colour, "plate": v.plate} for v in script.vehicles
        ],
        "things": [{"id": t.id, "name": t.name, "kind": t.kind, "colour": t.colour} for t in script.things],
        "presence": _presence(scene, picture),
        "actions": [_action(scene, action) for action in script.actions],
        "relations": _relations(scene),
        "utterances": _utterances(scene),
        "holdings": [
            {"thing": h.thing, "holder": h.holder, "start_ms": h.start_ms, "end_ms": h.end_ms} for h in script.holdings
        ],
        "questions": [_question(scene, f"q{n:03d}", q) for n, q in enumerate(asked_of(scene, questions), 1)],
    }


def _iso(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat().replace("+00:00", "Z")


def _camera(scene: Scene, camera: Camera) -> Json:
    others = [c.id for c in scene.script.cameras if c.id != camera.id and c.area.overlaps(camera.area)]
    return {
        "id": camera.id,
        "place": camera.place,
        "zone": camera.zone,
        "area": [camera.area.x, camera.area.y, camera.area.width, camera.area.height],
        "clock_offset_ms": camera.clock_offset_ms,
        "known_clock_offset_ms": camera.known_offset_ms,
        "overlaps": others,
        "recordings": [
            {"stem": r.stem, "file": f"{r.stem}.mp4", "start_ms": r.start_ms, "end_ms": r.end_ms}
            for r in camera.recordings
        ],
    }


def _travel(cameras: tuple[Camera, ...]) -> list[Json]:
    """The least time a walk takes between the places of two cameras."""
    return [
        {"from": a.id, "to": b.id, "min_ms": 0 if a.area.overlaps(b.area) else _walk_ms(a.zone, b.zone)}
        for a, b in combinations(cameras, 2)
    ]


def _walk_ms(a: str, b: str) -> int:
    def length(start: tuple[float, float], end: tuple[float, float]) -> float:
        return sum(hypot(p[0] - q[0], p[1] - q[1]) for p, q in pairwise(routed(start, a, end, b)))

    return round(min(length(s, e) for s in ZONES[a].spots for e in ZONES[b].spots) / WALK_M_S * 1000)


def _presence(scene: Scene, picture: Picture) -> list[Json]:
    spells = [
        (spell, recording.stem, camera)
        for camera, recording in scene.script.recordings()
        for found in scene.presence[recording.stem].values()
        for spell in found
    ]
    spells.sort(key=lambda s: (s[0].start_ms, s[1], s[0].id))
    return [
        {
            "id": spell.id,
            "camera": camera.id,
            "recording": stem,
            "start_ms": spell.start_ms,
            "end_ms": spell.end_ms,
            "boxes": _boxes(scene, spell, camera, picture),
        }
        for spell, stem, camera in spells
    ]


def _boxes(scene: Scene, spell: Presence, camera: Camera, picture: Picture) -> list[list[float]]:
    """[ms, x, y, width, height] at every corner, in pixels, linear between, not yet cut at the picture's edges."""
    item = scene.script.named[spell.id]
    wide, high = (item.length, VEHICLE_HEIGHT) if isinstance(item, Vehicle) else (PERSON_WIDTH, PERSON_HEIGHT)
    wide, high = wide * picture.scale, high * picture.scale
    boxes = []
    for ms, *point in spell.points:
        x, y = picture.pixel(camera.area, (point[0], point[1]))
        boxes.append([ms, round(x - wide / 2, 1), round(y - high, 1), round(wide, 1), round(high, 1)])
    return boxes


def _action(scene: Scene, action: Action) -> Json:
    return {
        "id": action.id,
        "verb": action.verb,
        "subject": action.subject,
        "object": action.object,
        "other": action.other,
        "zone": action.zone,
        "start_ms": action.start_ms,
        "end_ms": action.end_ms,
        "seen_by": {stem: list(span) for stem, span in scene.witnesses(action).items()},
    }


def _relations(scene: Scene) -> list[Json]:
    return [
        {
            "source": source,
            "relation": relation,
            "target": target,
            "start_ms": action.start_ms,
            "end_ms": action.end_ms,
            "zone": action.zone,
            "action": action.id,
        }
        for action in scene.script.actions
        for source, relation, target in relations(action)
    ]


def _utterances(scene: Scene) -> list[Json]:
    return [
        {
            "id": line.id,
            "speaker": line.speaker,
            "listener": line.listener,
            "text": line.text,
            "zone": line.zone,
            "start_ms": line.start_ms,
            "end_ms": line.end_ms,
            "mentions": list(line.mentions),
            "heard_by": sorted(scene.hearers(line)),
        }
        for line in scene.script.lines
    ]


def _question(scene: Scene, id_: str, question: Question) -> Json:
    return {
        "id": id_,
        "kind": question.kind,
        "text": question.text,
        "status": question.status,
        "answer": question.answer,
        "accepted": list(question.accepted),
        "all_of": list(question.all_of),
        "in_order": list(question.in_order),
        "value_ms": question.value_ms,
        "tolerance_ms": question.tolerance_ms,
        "modality": question.modality,
        "asked": {"camera": question.camera, "start_ms": question.asked[0], "end_ms": question.asked[1]},
        "evidence": _evidence(scene, question),
    }


def _evidence(scene: Scene, question: Question) -> list[Json]:
    """Every span that shows something of the answer; those of one `moment` show the same thing, any of them proves it."""
    recordings = {recording.stem: recording for _, recording in scene.script.recordings()}
    return [
        {
            "moment": number,
            "camera": recordings[stem].camera,
            "recording": stem,
            "start_ms": start,
            "end_ms": end,
            "offset_ms": start - recordings[stem].start_ms,
            "end_offset_ms": end - recordings[stem].start_ms,
        }
        for number, moment in enumerate(question.moments)
        for stem, (start, end) in sorted(moment.items())
    ]
