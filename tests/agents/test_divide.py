"""OmAgent's divide-and-conquer loop as published, and none of the defects of its release, with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.scripted import QUESTION, Crew, answer_of, crew, keep_all, kinds, opened
from vgraph.agents.steps import Decision, Division, Memory, Move, Rescue, Step
from vgraph.types import AnswerStatus


def do_answer(text: str) -> dict[str, Any]:
    return {"kind": "answer", "text": text, "tool": "", "arguments": {}}


def do_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "tool", "text": "", "tool": tool, "arguments": arguments}


def do_divide(why: str = "it takes steps") -> dict[str, Any]:
    return {"kind": "divide", "text": why, "tool": "", "arguments": {}}


def divided(*subtasks: str) -> dict[str, Any]:
    return {"subtasks": list(subtasks), "reason": "so"}


def rescue(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "reason": "r"}


FOUND = do_call("entity_graph_search", target="crate 25")
WRONG = do_call("timeline", entities=["Robert"])


def asked(site: Path, chat: Crew, question: str = QUESTION, **agent: Any) -> list[Step]:
    with opened(site, chat, record=False, **agent) as graph:
        return list(graph.run(question, agent="divide"))


def of(steps: list[Step], kind: type) -> list[Any]:
    return [step for step in steps if isinstance(step, kind)]


def test_one_tool_call_that_tells_is_success_and_the_tree_concludes(site: Path) -> None:
    steps = asked(site, crew(conqueror=FOUND))
    assert kinds(steps) == [
        "asked",
        "decision",
        "tool_call",
        "observation",
        "memory",
        "move",
        "verdict",
        "final_answer",
    ]
    [move] = of(steps, Move)
    assert (move.status, move.then) == ("success", None)
    assert answer_of(steps).claims


def test_a_divided_question_works_through_its_subtasks_in_order(site: Path) -> None:
    chat = crew(conqueror=[do_divide(), FOUND, do_answer("Bob did")], divider=divided("find it", "conclude"))
    steps = asked(site, chat)
    assert [(m.task, m.status, m.then) for m in of(steps, Move)] == [
        (QUESTION, "divided", 1), ("find it", "success", 2), ("conclude", "success", None),
    ]  # fmt: skip
    assert of(steps, Division)[0].subtasks == ("find it", "conclude")


def test_a_tool_error_is_rescued_with_other_arguments_and_what_that_finds_is_kept(site: Path) -> None:
    """In released code the rescuer's outcomes are swapped: its success ends the loop, and its result is lost."""
    chat = crew(
        conqueror=[do_divide(), WRONG, do_answer("so")], divider=divided("find him", "conclude"),
        rescuer=rescue("timeline", entities=["Bob"]),
    )  # fmt: skip
    steps = asked(site, chat)
    assert [(r.attempt, r.tool) for r in of(steps, Rescue)] == [(1, "timeline")]
    move = of(steps, Move)[1]
    assert (move.status, move.result, move.then) == ("success", "Bob took crate 25.", 2)
    assert of(steps, Memory)


def test_the_rescuer_tries_as_often_as_is_set_and_is_told_all_that_was_tried(site: Path) -> None:
    """In released code it tries once."""
    names = iter(["Rob", "Bobby", "Robin", "Rupert"])

    def other(text: str) -> dict[str, Any]:
        return rescue("timeline", entities=[next(names)])

    chat = crew(conqueror=WRONG, rescuer=other, analyzer={"relevant": False, "summary": "", "evidence": []})
    steps = asked(site, chat, "Where was Robert?", tries=3)
    assert [r.attempt for r in of(steps, Rescue)] == [1, 2, 3]
    assert (
        "Robert" in chat.prompts("rescuer")[2]
        and "Rob" in chat.prompts("rescuer")[2]
        and "Bobby" in chat.prompts("rescuer")[2]
    )
    assert of(steps, Move)[0].status == "failed"


def test_a_result_that_tells_nothing_is_rescued_too(site: Path) -> None:
    nothing = {"relevant": False, "summary": "", "evidence": []}
    chat = crew(
        conqueror=do_call("timeline", entities=["Ana"]),
        analyzer=[nothing, keep_all],
        rescuer=rescue("clip_search", question="crate 25"),
    )
    steps = asked(site, chat)
    assert of(steps, Move)[0].status == "success"
    assert "nothing that bears on the task was found" in chat.prompts("rescuer")[0]


def test_at_the_greatest_depth_a_division_fails_as_max_depth_and_no_rescuer_is_asked(site: Path) -> None:
    def deeper(text: str) -> dict[str, Any]:
        return divided(f"first part {len(text)}", f"second part {len(text)}")

    chat = crew(conqueror=do_divide(), divider=deeper)
    steps = asked(site, chat, max_depth=2, max_steps=200)
    failed = [move for move in of(steps, Move) if move.status == "failed"]
    assert {move.result for move in failed} == {"max depth"} and len(failed) == 4
    assert chat.prompts("rescuer") == []


def test_at_the_greatest_depth_the_conqueror_is_told_so(site: Path) -> None:
    chat = crew(conqueror=do_answer("x"))
    asked(site, chat, max_depth=0)
    assert "can not be divided any more" in chat.prompts("conqueror")[0]


def test_an_uncle_more_than_one_level_up_is_visited(site: Path) -> None:
    """In released code it is lost."""
    chat = crew(
        conqueror=[do_divide(), do_divide(), do_divide(), *[do_answer("x")] * 4],
        divider=[divided("a", "uncle"), divided("b", "aunt"), divided("c", "d")],
    )
    steps = asked(site, chat)
    assert [m.task for m in of(steps, Move) if m.status == "success"] == ["c", "d", "aunt", "uncle"]


def test_the_conclusion_sees_the_whole_tree(site: Path) -> None:
    """In released code it sees the last output alone."""
    chat = crew(conqueror=[do_divide(), FOUND, WRONG, do_answer("as said")], divider=divided("one", "two", "three"))
    asked(site, chat)
    [shown] = chat.prompts("answerer")
    for part in ("task 1 (success): one", "task 2 (failed): two", "task 3 (success): three", "as said"):
        assert part in shown


def test_the_milestone_of_a_task_is_shown_to_its_conqueror(site: Path) -> None:
    chat = crew(
        conqueror=[do_divide(), FOUND, do_answer("x")],
        divider={**divided("one", "two"), "milestones": ["the name of who took it"]},
    )
    steps = asked(site, chat)
    assert of(steps, Division)[0].milestones == ("the name of who took it",)
    assert "done when: the name of who took it" in chat.prompts("conqueror")[1]
    assert "done when" not in chat.prompts("conqueror")[2]


def test_each_conqueror_is_shown_what_was_found_before(site: Path) -> None:
    chat = crew(conqueror=[do_divide(), FOUND, do_answer("x")], divider=divided("one", "two"))
    asked(site, chat)
    assert "Bob took crate 25." in chat.prompts("conqueror")[2]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (do_call("google", q="x"), "there is no tool 'google'"),
        (do_call("timeline"), "entities: Field required"),
        ({**do_answer("x"), "tool": "timeline"}, "do exactly one of the three"),
        (do_answer("  "), "`text` must not be empty"),
        (do_divide(""), "`text` must not be empty"),
    ],
)
def test_a_decision_that_is_not_exactly_one_thing_is_asked_for_again(site: Path, bad: Any, fault: str) -> None:
    chat = crew(conqueror=[bad, FOUND])
    steps = asked(site, chat)
    assert kinds(steps)[1] == "retry" and fault in chat.prompts("conqueror")[1]
    assert [d.kind for d in of(steps, Decision)] == ["tool"]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (divided("only one"), "two to 5"),
        (divided(*"abcdef"), "two to 5"),
        (divided("a", "A."), "is there already"),
        (divided(QUESTION.upper(), "b"), "is there already"),
        (divided("a", " "), "is empty"),
    ],
)
def test_a_division_that_repeats_or_is_too_long_is_asked_for_again(site: Path, bad: Any, fault: str) -> None:
    chat = crew(conqueror=[do_divide(), do_answer("x")], divider=[bad, divided("a", "b")])
    steps = asked(site, chat)
    assert fault in chat.prompts("divider")[1]
    assert of(steps, Division)[0].subtasks == ("a", "b")


def test_a_task_that_cannot_be_divided_fails_with_the_reason(site: Path) -> None:
    chat = crew(conqueror=do_divide(), divider={"subtasks": [], "reason": "it is one thing"})
    [move] = of(asked(site, chat), Move)
    assert (move.status, move.result) == ("failed", "it is one thing")


def test_what_the_model_says_without_evidence_is_no_claim(site: Path) -> None:
    chat = crew(
        conqueror=do_answer("It was Zoe."),
        answerer={"claims": [{"text": "Zoe.", "evidence": ["z"]}], "choice": None, "confidence": 1},
    )
    answer = answer_of(asked(site, chat))
    assert answer.status is not AnswerStatus.answered or all("Zoe" not in claim.text for claim in answer.claims)


def test_endless_dividing_ends_with_the_budget(site: Path) -> None:
    """In released code there is no budget of steps, tokens or time."""

    def more(text: str) -> dict[str, Any]:
        return divided(*(f"{n} of {len(text)}" for n in range(5)))

    steps = asked(site, crew(conqueror=do_divide(), divider=more), max_steps=12)
    assert "exhausted" in kinds(steps)
    answer = answer_of(steps)
    assert answer.partial and len([s for s in kinds(steps, replies=True) if s in ("reply", "tool_call")]) <= 12 + 1


# --- the rewinder -------------------------------------------------------------------------------------------------------


class Eye:
    """A captioner that tells how many pictures it is shown, and when."""

    name = "eye"

    def caption(self, segment: Any, frames: Any, transcript: str, marks: Any = ()) -> Any:
        from vgraph.types import Caption

        assert len(frames) == 1 and frames[0][1].startswith(b"\xff\xd8")
        return (Caption(segment.offset_ms, segment.end_offset_ms, f"a picture of {frames[0][0]} ms", self.name),)


REWIND = do_call("rewind", camera="dock", start="2026-03-03T08:00:02", end="2026-03-03T08:00:06", count=4)


def test_the_rewinder_takes_new_pictures_of_the_range_and_describes_each(site: Path) -> None:
    with opened(site, crew(conqueror=REWIND), see=Eye(), record=False) as graph:
        steps = list(graph.run(QUESTION, agent="divide"))
    [kept] = of(steps, Memory)
    texts = " ".join(item.text for item in kept.items)
    assert [f"{at} ms" in texts for at in (2600, 3600, 4600, 5600)] == [True] * 4
    assert kept.start_ms == 1772524802600


def test_the_pictures_of_the_rewinder_reach_whoever_answers(site: Path) -> None:
    from vgraph.models.captions import VisionCaptioner

    chat = crew(conqueror=REWIND)
    seen: list[int] = []

    class Sees(Crew):
        def complete(self, messages: Any, **how: Any) -> Any:
            seen.append(sum(len(message.images) for message in messages))
            return super().complete(messages, **how)

    eye = Sees(answerer=chat._left["answerer"], verifier=chat._left["verifier"])
    described = VisionCaptioner(eye)
    described.caption = Eye().caption  # type: ignore[method-assign]
    with opened(site, chat, see=described, record=False) as graph:
        answer = graph.ask(QUESTION, agent="divide")
    assert answer.claims and seen[0] >= 4
    assert "picture 1: [" in eye.prompts("answerer")[0]


def test_the_rewinder_looks_at_what_nothing_is_written_of(tmp_path: Path) -> None:
    from tests.agents.scripted import settings_of
    from tests.conftest import write_video
    from vgraph import VGraph

    video = write_video(tmp_path / "bare.mp4", seconds=4)
    video.with_suffix(".meta.json").write_text('{"start": "2026-03-03T08:00:00Z"}')
    with VGraph.open(settings_of(tmp_path)) as graph:
        list(graph.ingest([video], camera="bare"))
        given = {"camera": "bare", "start": "2026-03-03T08:00:00", "end": "2026-03-03T08:00:04", "count": 2}
        found = graph.toolbox().call("rewind", given, graph.filters())
    assert [picture.offset_ms for picture in found.pictures] == [1000, 3000] and found.chunks


@pytest.mark.parametrize("count", [0, 11])
def test_a_rewind_takes_one_to_ten_pictures(site: Path, count: int) -> None:
    with opened(site, record=False) as graph:
        found = graph.toolbox().call(
            "rewind",
            {"camera": "dock", "start": "2026-03-03T08:00", "end": "2026-03-03T08:01", "count": count},
            graph.filters(),
        )
    assert "count" in found.error


def test_a_rewind_does_not_look_beyond_the_gate(site: Path) -> None:
    with opened(site, record=False) as graph:
        gate = graph.filters(not_after="2026-03-03T08:00:04Z")
        found = graph.toolbox().call(
            "rewind", {"camera": "dock", "start": "2026-03-03T08:00:00", "end": "2026-03-03T08:00:08"}, gate
        )
        beyond = graph.toolbox().call(
            "rewind", {"camera": "gate", "start": "2026-03-03T09:00", "end": "2026-03-03T09:01"}, gate
        )
    assert found.pictures and max(picture.at_ms for picture in found.pictures) < 1772524804000
    assert not beyond.pictures


def test_two_videos_are_two_documents_for_the_tools(site: Path) -> None:
    """In released code vectors are keyed by scene number, so that a second video overwrites the first."""
    steps = asked(site, crew(conqueror=do_call("clip_search", question="crate 25")))
    assert len({citation.document for claim in answer_of(steps).claims for citation in claim.citations}) == 2
