"""EGAgent's planning agent as published, and none of the defects of its release, with a scripted model; runs compare as lists of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.scripted import (
    LATER,
    QUESTION,
    START,
    Crew,
    answer_of,
    cite_all,
    crew,
    enough,
    keep_all,
    kinds,
    opened,
    plan,
)  # fmt: skip
from vgraph.agents.steps import Grade, Memory, Observation, Plan, Reply, Route, Step, ToolCall
from vgraph.agents.working import REPEATED
from vgraph.types import AnswerStatus, Filters

GRAPH = ("who took it", "entity_graph_search", {"target": "crate 25"})
SIGHT = ("see the gate", "visual_search", {"queries": ["gate"]})
SPEECH = ("hear it", "transcript_search", {"queries": ["forklift"]})


def asked(site: Path, chat: Any, question: str = QUESTION, filters: Filters | None = None, **agent: Any) -> list[Step]:
    with opened(site, chat, record=False, **agent) as graph:
        return list(graph.run(question, filters, agent="plan"))


def of(steps: list[Step], kind: type) -> list[Any]:
    return [step for step in steps if isinstance(step, kind)]


def test_a_run_is_plan_route_call_observation_memory_grade_verdict_answer(site: Path) -> None:
    steps = asked(site, crew())
    assert kinds(steps) == [
        "asked",
        "plan",
        "route",
        "tool_call",
        "observation",
        "memory",
        "grade",
        "verdict",
        "final_answer",
    ]
    answer = answer_of(steps)
    assert answer.status is AnswerStatus.answered and answer.method == "model:scripted" and not answer.partial
    assert {citation.camera for claim in answer.claims for citation in claim.citations} == {"dock", "gate"}


# --- E11: planner -------------------------------------------------------------------------------------------------------


def test_the_plan_is_an_ordered_list_of_subtask_tool_and_arguments(site: Path) -> None:
    [made] = of(asked(site, crew(planner=plan(GRAPH, SIGHT), grader=[enough("the gate"), enough()])), Plan)
    assert [(each.task, each.tool) for each in made.subtasks] == [GRAPH[:2], SIGHT[:2]]


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (plan(*[GRAPH] * 6), "there must be one to 5"),
        (plan(), "there must be one to 5"),
        (plan(("t", "google", {})), "there is no tool 'google'"),
        (plan(("t", "timeline", {})), "entities: Field required"),
        (plan(("t", "timeline", {"entities": ["Ana"], "colour": "red"})), "colour: Extra inputs are not permitted"),
        (plan(("t", "visual_search", {"queries": ["a", "b", "c", "d"]})), "at most 3 items"),
    ],
)
def test_a_malformed_plan_is_asked_for_again_with_the_error(site: Path, bad: Any, fault: str) -> None:
    chat = crew(planner=[bad, plan(GRAPH)])
    steps = asked(site, chat)
    assert kinds(steps)[:4] == ["asked", "retry", "plan", "route"]
    assert fault in chat.prompts("planner")[1]
    assert answer_of(steps).claims


def test_every_fault_of_a_plan_is_told_at_once(site: Path) -> None:
    chat = crew(planner=[plan(("t", "google", {}), ("t", "timeline", {})), plan(GRAPH)])
    asked(site, chat)
    told = chat.prompts("planner")[1]
    assert "subtask 1: there is no tool 'google'" in told and "subtask 2: the arguments of timeline" in told


def test_without_any_usable_plan_the_question_itself_is_searched_for(site: Path) -> None:
    steps = asked(site, crew(planner=plan(("t", "google", {}))))
    assert [step.tool for step in of(steps, ToolCall)] == ["clip_search"]
    answer = answer_of(steps)
    assert answer.claims and any("planner" in warning for warning in answer.warnings)


# --- E12: router --------------------------------------------------------------------------------------------------------


def routes(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"routes": [{"tool": tool, "arguments": given} for tool, given in calls], "reason": "r"}


JUDGED = ("transcript_search", {"queries": ["crate"], "mode": "judged"})
WORDS = ("transcript_search", {"queries": ["crate"]})
PICTURES = ("visual_search", {"queries": ["crate"]})
RELATIONS = ("entity_graph_search", {"target": "crate 25"})


def test_the_router_is_reached_and_asks_the_graph_first_and_judged_speech_last(site: Path) -> None:
    """In released code the router exists, and is never reached."""
    chat = crew(router=routes(JUDGED, WORDS, PICTURES, RELATIONS))
    [made] = of(asked(site, chat), Route)
    assert [(call.tool, call.arguments.get("mode")) for call in made.calls] == [
        ("entity_graph_search", None), ("visual_search", None), ("transcript_search", None), ("transcript_search", "judged"),
    ]  # fmt: skip


def test_a_dearer_sense_is_asked_only_when_the_cheaper_one_tells_nothing(site: Path) -> None:
    found = [{"relevant": False, "summary": "", "evidence": []}, keep_all]
    steps = asked(site, crew(router=routes(PICTURES, RELATIONS), analyzer=found))
    assert [step.tool for step in of(steps, ToolCall)] == ["entity_graph_search", "visual_search"]
    once = asked(site, crew(router=routes(PICTURES, RELATIONS)))
    assert [step.tool for step in of(once, ToolCall)] == ["entity_graph_search"]


def test_what_is_of_no_sense_is_not_routed(site: Path) -> None:
    chat = crew(planner=plan(("t", "timeline", {"entities": ["Bob"]})))
    asked(site, chat)
    assert chat.prompts("router") == []


def test_an_empty_graph_falls_back_to_sight_and_speech(site: Path) -> None:
    """Cascade: if every level is empty, visual or audio search on the same question."""
    chat = crew(planner=plan(("t", "entity_graph_search", {"source": "Zoe"})))
    steps = asked(site, chat, "Who speaks of the forklift?")
    called = [step.tool for step in of(steps, ToolCall)]
    assert called[0] == "entity_graph_search" and called[1] in ("clip_search", "visual_search", "transcript_search")
    assert answer_of(steps).claims


# --- E13, E14: analyzer and working memory ------------------------------------------------------------------------------


@pytest.mark.parametrize("subtask", [GRAPH, SIGHT, SPEECH, ("t", "timeline", {"entities": ["Bob"]})])
def test_every_result_passes_the_analyzer_the_graphs_too(site: Path, subtask: Any) -> None:
    """In released code rows of the graph reach memory without it."""
    chat = crew(planner=plan(subtask))
    steps = asked(site, chat)
    assert len(chat.prompts("analyzer")) == 1
    assert kinds(steps).index("observation") < kinds(steps).index("memory")


def test_what_does_not_bear_on_the_task_does_not_reach_memory(site: Path) -> None:
    steps = asked(site, crew(analyzer={"relevant": False, "summary": "", "evidence": []}))
    assert of(steps, Memory) == []
    answer = answer_of(steps)
    assert answer.status is AnswerStatus.not_found and not answer.claims


def test_memory_holds_task_tool_summary_times_and_the_supporting_text(site: Path) -> None:
    """In released code rows reach memory without supporting text."""
    [kept] = of(asked(site, crew()), Memory)
    assert (kept.task, kept.tool) == ("find who took it", "entity_graph_search")
    assert any("Ana hands crate 25 to Bob." in item.text for item in kept.items)
    assert kept.start_ms is not None and kept.start_ms < kept.end_ms


def test_a_single_exact_hit_is_kept(site: Path) -> None:
    """In released code results of three rows and fewer are thrown away."""
    chat = crew(
        planner=plan(("t", "entity_graph_search", {"source": "Ana", "relation": ["hands over"], "target": "crate 25"}))
    )
    [kept] = of(asked(site, chat), Memory)
    assert "exact" in kept.items[0].text and kept.chunks


def test_what_memory_knows_already_is_not_told_again(site: Path) -> None:
    clips = [("a", "clip_search", {"question": "crate 25"}), ("b", "clip_search", {"question": "Bob with crate 25"})]
    chat = crew(planner=plan(*clips), grader=[enough("more"), enough()])
    kept = of(asked(site, chat), Memory)
    ids = [item.id for memory in kept for item in memory.items]
    assert len(ids) == len(set(ids))


def test_the_analyzer_cannot_keep_what_was_not_found(site: Path) -> None:
    invented = {"relevant": True, "summary": "Zoe did it.", "evidence": ["c99"]}
    steps = asked(site, crew(analyzer=[invented, keep_all]))
    assert "retry" in kinds(steps)
    assert all("Zoe" not in memory.summary for memory in of(steps, Memory))


def test_of_an_unusable_analysis_the_lines_that_share_words_are_kept_and_it_is_told(site: Path) -> None:
    chat = crew(
        analyzer={"relevant": True, "summary": "x", "evidence": ["c99"]}, planner=plan(("crate 25", *GRAPH[1:]))
    )
    steps = asked(site, chat)
    assert of(steps, Memory)
    assert any("analyzer" in warning for warning in answer_of(steps).warnings)


# --- E15: grader --------------------------------------------------------------------------------------------------------


def test_the_grader_is_asked_after_each_step_and_ends_the_work_early(site: Path) -> None:
    """In released code the early exit exists, and is never reached."""
    three = plan(GRAPH, SIGHT, SPEECH)
    assert len(of(asked(site, crew(planner=three)), ToolCall)) == 1
    steps = asked(site, crew(planner=three, grader=[enough("more"), enough()]))
    assert (len(of(steps, ToolCall)), [grade.enough for grade in of(steps, Grade)]) == (2, [False, True])


def test_nothing_is_never_enough_and_no_model_is_asked_for_that(site: Path) -> None:
    chat = crew(analyzer={"relevant": False, "summary": "", "evidence": []})
    steps = asked(site, chat)
    assert not any(grade.enough for grade in of(steps, Grade)) and chat.prompts("grader") == []


# --- E16: answerer ------------------------------------------------------------------------------------------------------


def test_the_answerer_is_shown_memory_and_cites_it(site: Path) -> None:
    chat = crew()
    answer = answer_of(asked(site, chat))
    [shown] = chat.prompts("answerer")
    assert "find who took it (entity_graph_search): Bob took crate 25." in shown
    cited = [citation for claim in answer.claims for citation in claim.citations]
    assert cited and all(c.chunk and c.camera and c.uri and c.start_ms and c.frame for c in cited)


def test_multiple_choice_chooses_one_of_the_options(site: Path) -> None:
    def chosen(text: str) -> dict[str, Any]:
        return {**cite_all(text), "choice": "B"}

    chat = crew(answerer=chosen)
    with opened(site, chat, record=False) as graph:
        answer = graph.ask(QUESTION, agent="plan", choices=["Ana", "Bob", "nobody"])
    assert answer.choice == "Bob"
    assert "B: Bob" in chat.prompts("answerer")[0]


def test_an_option_without_evidence_is_not_chosen(site: Path) -> None:
    chat = crew(answerer={"claims": [], "choice": "A", "confidence": 1.0})
    with opened(site, chat, record=False) as graph:
        answer = graph.ask(QUESTION, agent="plan", choices=["Ana", "Bob"])
    assert answer.choice is None and answer.confidence is None


# --- E17: the gate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subtask",
    [
        GRAPH, SIGHT, SPEECH, ("t", "timeline", {"entities": ["Bob"]}), ("t", "clip_search", {"question": "Bob leaves"}),
        ("t", "entity_graph_search", {"source": "Bob", "form": "days"}), ("t", "transcript_search", {"queries": ["Bob"], "start": START}),
        ("t", "interactions", {}), ("t", "first_last_seen", {}), ("t", "count_and_measure", {"measure": "how_long"}),
    ],
)  # fmt: skip
def test_nothing_after_the_gate_is_read_by_any_tool(site: Path, subtask: Any) -> None:
    """In released code the transcript search sees past the question's time."""
    with opened(site, crew(planner=plan(subtask)), record=False) as graph:
        filters = graph.filters(not_after="2026-03-03T08:30:00Z")
        steps = list(graph.run(QUESTION, filters, agent="plan"))
    for observation in of(steps, Observation):
        assert "gate" not in observation.text and "leaves" not in observation.text
        assert {chunk.camera for chunk in observation.chunks} <= {"dock"}


def test_arguments_cannot_widen_the_gate(site: Path) -> None:
    wide = ("t", "timeline", {"entities": ["Bob"], "start": START, "end": "2030-01-01T00:00:00Z", "cameras": ["gate"]})
    with opened(site, crew(planner=plan(wide)), record=False) as graph:
        filters = graph.filters(cameras=["dock"], end="2026-03-03T08:30:00Z")
        steps = list(graph.run(QUESTION, filters, agent="plan"))
    assert [
        chunk for observation in of(steps, Observation) for chunk in observation.chunks if chunk.camera == "gate"
    ] == []


# --- E18: accounting ----------------------------------------------------------------------------------------------------


def test_tokens_are_told_by_worker(site: Path) -> None:
    steps = asked(site, crew())
    answer = answer_of(steps)
    replies = of(steps, Reply)
    assert (
        set(answer.spent)
        == {reply.worker for reply in replies}
        == {"planner", "router", "analyzer", "grader", "answerer", "verifier"}
    )
    assert answer.usage.input_tokens == sum(reply.usage.input_tokens for reply in replies) > 0
    assert answer.spent["planner"].calls == 1


# --- calls that go wrong ------------------------------------------------------------------------------------------------


def test_a_call_that_was_made_before_is_not_made_again(site: Path) -> None:
    chat = crew(planner=plan(GRAPH, GRAPH), grader=[enough("more"), enough()])
    first, second = of(asked(site, chat), Observation)
    assert not first.error and second.error == REPEATED


def test_a_call_that_fails_is_rescued_with_the_error(site: Path) -> None:
    chat = crew(
        planner=plan(("t", "timeline", {"entities": ["Robert"]})),
        rescuer={"tool": "timeline", "arguments": {"entities": ["Bob"]}, "reason": "his name"},
    )
    steps = asked(site, chat)
    assert "no entity 'Robert'" in chat.prompts("rescuer")[0]
    assert kinds(steps)[:6] == ["asked", "plan", "tool_call", "observation", "rescue", "tool_call"]
    assert answer_of(steps).claims


# --- the budget ---------------------------------------------------------------------------------------------------------


def test_when_the_steps_are_spent_one_last_answer_comes_from_what_was_seen(site: Path) -> None:
    steps = asked(site, crew(), max_steps=4)
    assert kinds(steps)[-2:] == ["exhausted", "final_answer"]
    answer = answer_of(steps)
    assert answer.partial and answer.claims
    assert len(of(steps, Reply)) + len(of(steps, ToolCall)) <= 4 + 1


@pytest.mark.parametrize("tokens", [0, 500, 5_000, 20_000])
def test_tokens_never_pass_their_cap_and_what_is_left_over_is_answered_by_the_evidences_own_lines(
    site: Path, tokens: int
) -> None:
    answer = answer_of(asked(site, crew(), max_tokens=tokens))
    assert answer.usage.input_tokens + answer.usage.output_tokens <= tokens
    if tokens < 5_000:
        assert answer.partial and answer.method == "extractive"


def test_money_has_a_cap(site: Path) -> None:
    from vgraph.settings import PriceSettings

    with opened(site, crew(), record=False, max_money=0.001) as graph:
        graph.settings = graph.settings.model_copy(update={"prices": PriceSettings(chat_input=1_000.0)})
        answer = graph.ask(QUESTION, agent="plan")
    assert answer.partial and sum(cost.money for cost in answer.spent.values()) <= 0.001


def test_no_call_begins_after_the_seconds_are_over(site: Path) -> None:
    from vgraph.agents.budget import Budget, Limits, OutOfBudget

    now = iter([0.0, 1.0, 11.0])
    budget = Budget(Limits(seconds=10.0), clock=lambda: next(now))
    budget.take()
    with pytest.raises(OutOfBudget) as end:
        budget.take()
    assert end.value.step.what == "seconds"
    budget.take(last=True)


# --- nothing to look at -------------------------------------------------------------------------------------------------


def test_a_time_nobody_recorded_is_not_recorded_and_no_model_is_asked(site: Path) -> None:
    chat = crew()
    with opened(site, chat, record=False) as graph:
        answer = graph.ask(QUESTION, graph.filters(start="2027-01-01T00:00:00Z"), agent="plan")
    assert answer.status is AnswerStatus.not_recorded and chat.asked == []


def test_a_script_that_says_nothing_at_all_ends_in_an_answer(site: Path) -> None:
    for agent in ("direct", "plan", "divide", "auto"):
        with opened(site, Crew(), record=False) as graph:
            assert graph.ask(QUESTION, agent=agent).warnings


def test_times_have_a_date_and_a_zone(site: Path) -> None:
    """In released code times are clock digits of one day."""
    [kept] = of(asked(site, crew(planner=plan(("t", "timeline", {"entities": ["Bob"], "start": LATER})))), Memory)
    assert "2026-03-03 09:00:02 UTC" in kept.items[0].text
