"""Answers by rules, on a kitchen: every form of question, its value in the first claim, its clip, and what is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.conftest import write_video
from vgraph.agents.rules.choices import chosen
from vgraph.app import VGraph
from vgraph.errors import UserError
from vgraph.settings import Settings
from vgraph.types import Answer, AnswerStatus, Filters

ANA, BO = {"name": "Ana Ruiz", "type": "person"}, {"name": "Bo Lind", "type": "person"}
KETTLE, CUP, KITCHEN = (
    {"name": "kettle 3", "type": "object"}, {"name": "cup 8", "type": "object"}, {"name": "kitchen", "type": "location"},
)  # fmt: skip
CAPTIONS = [
    {
        "start": 1.0, "end": 5.0, "text": "Ana Ruiz enters the kitchen.", "entities": [ANA, KITCHEN],
        "relations": [{"source": "Ana Ruiz", "relation": "enters", "target": "kitchen", "start": 2.0, "end": 3.0}],
    },
    {
        "start": 5.0, "end": 12.0, "text": "Ana Ruiz grabs kettle 3 in the kitchen. Then she fills it.", "entities": [ANA, KETTLE, KITCHEN],
        "relations": [{"source": "Ana Ruiz", "relation": "grabs", "target": "kettle 3", "start": 6.0, "end": 8.0}],
    },
    {
        "start": 12.0, "end": 20.0, "text": "Ana Ruiz passes kettle 3 to Bo Lind.", "entities": [ANA, BO, KETTLE],
        "relations": [
            {"source": "Ana Ruiz", "relation": "passes", "target": "kettle 3", "start": 14.0, "end": 16.0},
            {"source": "Bo Lind", "relation": "receives", "target": "kettle 3", "start": 14.0, "end": 16.0},
        ],
    },
    {
        "start": 20.0, "end": 34.0, "text": "Ana Ruiz chats with Bo Lind. Bo Lind lifts cup 8.", "entities": [ANA, BO, CUP],
        "relations": [
            {"source": "Ana Ruiz", "relation": "chats with", "target": "Bo Lind", "start": 20.0, "end": 32.0},
            {"source": "Bo Lind", "relation": "lifts", "target": "cup 8", "start": 33.0, "end": 34.0},
        ],
    },
]  # fmt: skip
VTT = "WEBVTT\n\n00:00:22.000 --> 00:00:25.000\n<v Bo Lind>Batch 77 ships to Oslo tomorrow.</v>\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VGraph]:
    folder = tmp_path_factory.mktemp("kitchen")
    video = folder / "north.mp4"
    write_video(video, seconds=40)
    video.with_suffix(".captions.jsonl").write_text("\n".join(map(json.dumps, CAPTIONS)), encoding="utf-8")
    video.with_suffix(".vtt").write_text(VTT, encoding="utf-8")
    meta = {"camera": {"label": "north", "place": "kitchen", "tz": "UTC"}, "start": "2026-05-04T10:00:00Z"}
    video.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    settings = Settings(
        database={"url": f"embedded:{folder / 'graph.sqlite'}"}, media={"assets": folder / "assets", "window_s": 10.0},
        models={"embed": "wordllama", "chat": "none"},
    )  # fmt: skip
    with VGraph.open(settings) as opened:
        list(opened.ingest([video]))
        yield opened


def value(answer: Answer) -> str:
    assert answer.status is AnswerStatus.answered and answer.method == "rules", answer.text
    assert all(claim.citations for claim in answer.claims)
    return answer.claims[0].text


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Who picked up kettle 3?", "Ana Ruiz."),
        ("By whom was kettle 3 handed over to Bo Lind?", "Ana Ruiz."),
        ("Tell me who got kettle 3 from Ana Ruiz.", "Bo Lind."),
        ("What did Bo Lind pick up?", "Cup 8."),
        ("What time was it when Ana Ruiz took kettle 3?", "2026-05-04 10:00:06"),
        ("Where did Ana Ruiz take kettle 3?", "The kitchen."),
        ("How much time did Ana Ruiz and Bo Lind spend talking?", "12 seconds"),
        ("How many things did Bo Lind pick up?", "1: cup 8."),
        ("Did Ana Ruiz give kettle 3 to Bo Lind before or after Bo Lind picked up cup 8?", "Before:"),
        ("Which came first: Ana Ruiz taking kettle 3 or Bo Lind lifting cup 8?", "First: 2026-05-04 10:00:06"),
        ("In which order were cup 8 and kettle 3 picked up?", "Kettle 3, then cup 8."),
        ("With whom did Ana Ruiz talk?", "Bo Lind."),
        ("Did Ana Ruiz hand kettle 3 to Bo Lind?", "Yes:"),
        ("Did Bo Lind pick up kettle 3?", "No,"),
        ("Who said that batch 77 ships to Oslo?", "Bo Lind said so"),
        ("Where does batch 77 ship to?", "Bo Lind said: “Batch 77 ships to Oslo tomorrow.”"),
    ],
)
def test_the_first_claim_is_the_answer(graph: VGraph, question: str, right: str) -> None:
    assert value(graph.ask(question)).startswith(right)


def test_a_claim_cites_the_moment_that_shows_it(graph: VGraph) -> None:
    cited = graph.ask("Who picked up kettle 3?").claims[0].citations[0]
    assert (cited.camera_label, cited.offset_ms, cited.end_offset_ms) == ("north", 6_000, 8_000)
    assert "grabs kettle 3" in cited.quote


@pytest.mark.parametrize(
    "question", ["Who picked up the violin?", "When did Bo Lind give kettle 3 to Ana Ruiz?", "Who picked up kettle 4?"]
)
def test_what_the_graph_does_not_hold_is_not_found(graph: VGraph, question: str) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and not answer.claims


def test_before_anything_was_recorded_nobody_is_known(graph: VGraph) -> None:
    answer = graph.ask("Was Ana Ruiz at the kitchen?", graph.filters(not_after="2026-05-04T09:00:00Z"))
    assert answer.status is AnswerStatus.not_recorded


@pytest.mark.parametrize(
    ("question", "right"),
    [("How many people were in the kitchen?", "2:"), ("How many cups were in the kitchen?", "1: cup 8.")],
)
def test_only_what_is_of_the_kind_asked_for_is_counted(graph: VGraph, question: str, right: str) -> None:
    assert value(graph.ask(question)).startswith(right)


@pytest.mark.parametrize(
    ("question", "word"),
    [("How many dogs were in the kitchen?", "dogs"), ("How many tall people were in the kitchen?", "tall")],
)
def test_what_is_of_no_known_kind_is_not_counted(graph: VGraph, question: str, word: str) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and word in answer.text


@pytest.mark.parametrize(
    "question", ["Was Cy Dorn or Di Egan in the kitchen?", "Did Bo Lind or Cy Dorn pick up kettle 3?"]
)
def test_of_somebody_unknown_that_an_or_joins_nothing_is_denied(graph: VGraph, question: str) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and "cy dorn" in answer.text


def test_of_those_that_an_or_joins_any_will_do(graph: VGraph) -> None:
    assert value(graph.ask("Did Bo Lind or Ana Ruiz pick up kettle 3?")).startswith("Yes:")
    assert value(graph.ask("Did Bo Lind pick up kettle 3 or cup 8?")).startswith("Yes:")
    assert value(graph.ask("Did Ana Ruiz pick up kettle 3 or cup 8?")).startswith("Yes:")


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Were Ana Ruiz and Bo Lind together in the kitchen?", "Yes: Ana Ruiz and Bo Lind were"),
        ("Was Bo Lind with Ana Ruiz?", "Yes:"),
        ("Was Bo Lind or Cy Dorn in the kitchen?", "Yes: Bo Lind"),
    ],
)
def test_several_are_where_all_of_them_were_seen(graph: VGraph, question: str, right: str) -> None:
    assert value(graph.ask(question, graph.filters(cameras=["north"]))).startswith(right)


@pytest.mark.parametrize(
    "question", ["Was Ana Ruiz with Cy Dorn in the kitchen?", "Were Ana Ruiz and Cy Dorn together in the kitchen?"]
)
def test_whoever_is_not_known_is_not_left_out_of_the_question(graph: VGraph, question: str) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and "cy dorn" in answer.text


def test_the_time_of_several_is_what_their_stays_share(graph: VGraph) -> None:
    alone = value(graph.ask("How long was Bo Lind in the kitchen?"))
    assert (
        value(graph.ask("How long were Ana Ruiz and Bo Lind together in the kitchen?")).split(",")[0]
        == alone.split(",")[0]
    )


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Didn't Ana Ruiz pick up kettle 3?", "Yes: "),
        ("Did Ana Ruiz never pick up kettle 3?", "No: "),
        ("Did Bo Lind never pick up kettle 3?", "Yes, as far as"),
        ("Did nobody pick up kettle 3?", "No: "),
        ("Was there nobody in the kitchen?", "No: "),
    ],
)
def test_a_denial_turns_the_answer_round_or_asks_the_same(graph: VGraph, question: str, right: str) -> None:
    assert value(graph.ask(question)).startswith(right)


@pytest.mark.parametrize(
    "question",
    [
        "How many people were not in the kitchen?",
        "Who did not pick up kettle 3?",
        "Did Ana Ruiz leave without kettle 3?",
    ],
)
def test_a_denial_that_rules_do_not_read_is_not_answered(graph: VGraph, question: str) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and "denies" in answer.text


def test_a_time_that_nobody_recorded_is_not_recorded(graph: VGraph) -> None:
    assert graph.ask("Who was in the kitchen at 8:00 on 2026-05-04?").status is AnswerStatus.not_recorded


def test_what_the_filters_leave_nothing_of_is_not_recorded(graph: VGraph) -> None:
    answer = graph.ask("Who was in the kitchen?", Filters(time_of_day=(0, 60)))
    assert (answer.status, answer.evidence.recorded) == (AnswerStatus.not_recorded, ())


def test_what_is_asked_around_an_event_is_not_the_event(graph: VGraph) -> None:
    answer = graph.ask("What did Ana Ruiz do after she grabbed kettle 3?")
    assert "passes kettle 3" in answer.text and "grabs kettle 3" not in answer.text
    event = answer.evidence.understood.event  # type: ignore[union-attr]
    assert event is not None and event.end_ms % 60_000 == 8_000


def test_a_search_around_an_event_finds_what_comes_after_it(graph: VGraph) -> None:
    found = graph.search("What happened after Ana Ruiz passed kettle 3 to Bo Lind?")
    lines = [line.text for chunk in found.chunks for line in chunk.lines]
    assert found.understood is not None and found.understood.event is not None
    assert any("lifts cup 8" in line for line in lines) and not any("passes kettle 3" in line for line in lines)


def test_nothing_later_is_known(graph: VGraph) -> None:
    filters = graph.filters(not_after="2026-05-04T10:00:13Z")
    assert graph.ask("Who gave kettle 3 to Bo Lind?", filters).status is AnswerStatus.not_found


def test_the_interpretation_is_part_of_the_answer(graph: VGraph) -> None:
    read = graph.ask("By whom was kettle 3 passed to Bo?").evidence.understood
    assert read is not None and (read.form, read.senses, read.asked) == ("who", ("give",), "person")
    assert {named.name for named in read.named} == {"kettle 3", "Bo Lind"}


def test_why_is_beyond_rules_and_says_so(graph: VGraph) -> None:
    answer = graph.ask("Why did Ana Ruiz grab kettle 3?")
    assert answer.status is not AnswerStatus.answered and answer.text.startswith("Rules cannot answer why")


def test_a_question_without_words_asks_nothing(graph: VGraph) -> None:
    answer = graph.ask("???")
    assert answer.status is AnswerStatus.not_found and answer.text.startswith("Nothing was asked")


def test_a_question_has_a_longest_length(graph: VGraph) -> None:
    with pytest.raises(UserError, match="characters"):
        graph.ask("who " * 2_000)


def test_the_choice_that_the_evidence_supports_is_chosen(graph: VGraph) -> None:
    answer = graph.ask("Who picked up kettle 3?", choices=["Bo Lind", "Ana Ruiz", "Cy Dorn"])
    assert answer.choice == "Ana Ruiz"


def test_no_choice_is_made_where_none_is_supported(graph: VGraph) -> None:
    answer = graph.ask("Who picked up kettle 3?", choices=["Cy Dorn", "Di Egan"])
    assert answer.choice is None and answer.status is AnswerStatus.not_found and not answer.claims


@pytest.mark.parametrize(
    ("choices", "form", "answer", "right"),
    [
        (["A. two", "B. three"], "how_many", "3: a, b and c.", "B. three"),
        (["9:00", "9:10 am", "21:10"], "when", "2026-05-04 09:11:20 UTC: x", "9:10 am"),
        (["1 min 10 s", "20 s"], "how_long", "68 seconds. x", "1 min 10 s"),
        (["Yes", "No"], "yes_no", "No, not as far as it was recorded: x", "No"),
        (["cup, then kettle", "kettle, then cup"], "sequence", "Kettle, then cup.", "kettle, then cup"),
        (["the kitchen", "the garden"], "where", "The cellar. x", None),
    ],
)
def test_choices_are_compared_by_what_the_form_asks_for(
    choices: list[str], form: str, answer: str, right: str | None
) -> None:
    assert chosen(choices, form, answer) == right  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Who was alone in the kitchen?", "alone"),
        ("Did Bo Lind receive kettle 3 twice?", "twice"),
        ("Has Ana Ruiz been in the kitchen for more than a minute?", "minute"),
        ("Who picked up the green kettle 3?", "green"),
        ("Was Ana Ruiz in the kitchen and then in the kitchen?", "and then"),
        ("Was Ana Ruiz in the kitchen first?", "first"),
    ],
)
def test_a_part_of_the_question_that_cannot_be_checked_is_named_and_not_dropped(
    graph: VGraph, question: str, left: str
) -> None:
    answer = graph.ask(question)
    assert answer.status is AnswerStatus.not_found and f"“{left}”" in answer.text and not answer.claims


@pytest.mark.parametrize("question", ["Who saw cup 8?", "Did Ana Ruiz see cup 8?"])
def test_being_near_is_not_seeing(graph: VGraph, question: str) -> None:
    assert graph.ask(question).status is AnswerStatus.not_found


def test_the_first_at_a_place_is_whose_stay_began_first(graph: VGraph) -> None:
    assert value(graph.ask("Who was in the kitchen first?")).startswith("Ana Ruiz (")
    assert value(graph.ask("Who was the last person in the kitchen?")).startswith("Ana Ruiz and Bo Lind (")


@pytest.mark.parametrize(
    "question",
    ["Where was Ana Ruiz before she entered the kitchen?", "Where was Ana Ruiz before she was in the kitchen?"],
)
def test_before_somebody_came_to_a_place_they_were_not_there(graph: VGraph, question: str) -> None:
    assert graph.ask(question).status is AnswerStatus.not_found


def test_a_question_in_another_language_is_told_that_rules_read_english(graph: VGraph) -> None:
    answer = graph.ask("Wer war gestern Abend im Garten?")
    assert answer.status is AnswerStatus.not_found and "rules read English" in answer.text


def test_whether_a_thing_is_in_another_is_not_told_by_where_it_was_seen(graph: VGraph) -> None:
    assert graph.ask("Is kettle 3 in cup 8?").status is AnswerStatus.not_found


def test_where_somebody_was_at_a_moment_is_found_by_what_tells_who_was_there(graph: VGraph) -> None:
    assert "Ana Ruiz" in value(graph.ask("Who was in the kitchen at 10:00:07 on 2026-05-04?"))
    assert value(graph.ask("Where was Ana Ruiz at 10:00:07 on 2026-05-04?")).startswith("Ana Ruiz: the kitchen")
