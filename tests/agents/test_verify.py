"""Claims are held against what they cite: kept, corrected or dropped; where nothing is supported nothing is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.scripted import QUESTION, answer_of, crew, ids_in, kinds, opened, supports
from vgraph.agents.steps import Step, Verdict
from vgraph.types import Answer, AnswerStatus


def two_claims(text: str) -> dict[str, Any]:
    ids = ids_in(text)
    stated = [{"text": "Bob took crate 25.", "evidence": ids}, {"text": "It was raining.", "evidence": ids[:1]}]
    return {"claims": stated, "choice": None, "confidence": 0.8}


def asked(site: Path, chat: Any, **agent: Any) -> list[Step]:
    with opened(site, chat, record=False, **agent) as graph:
        return list(graph.run(QUESTION, agent="direct"))


def answered(site: Path, *verdicts: dict[str, Any], **agent: Any) -> Answer:
    return answer_of(asked(site, crew(answerer=two_claims, verifier=list(verdicts)), **agent))


def test_each_claim_is_looked_at_by_itself_beside_its_evidence_alone(site: Path) -> None:
    chat = crew(answerer=two_claims)
    steps = asked(site, chat)
    assert kinds(steps) == ["asked", "verdict", "verdict", "final_answer"]
    first, second = chat.prompts("verifier")
    assert "Bob took crate 25." in first and "Bob took crate 25." not in second
    assert "Ana hands crate 25 to Bob." in first and QUESTION not in first


def test_supported_claims_say_so_and_why(site: Path) -> None:
    answer = answered(site, supports())
    assert [(claim.support, claim.reason) for claim in answer.claims] == [("supports", "so it says")] * 2
    assert answer.confidence == 0.8


def test_a_contradicted_claim_is_dropped_and_a_warning_says_so(site: Path) -> None:
    answer = answered(site, supports(), supports("contradicts"))
    assert [claim.text for claim in answer.claims] == ["Bob took crate 25."]
    assert answer.confidence == pytest.approx(0.4)
    assert any("contradicts" in warning for warning in answer.warnings)


def test_a_contradicted_claim_is_corrected_when_the_correction_holds(site: Path) -> None:
    answer = answered(site, supports("contradicts", "Ana handed it to Bob."), supports())
    assert next(claim.text for claim in answer.claims) == "Ana handed it to Bob."
    assert answer.text.startswith("Ana handed it to Bob.")


def test_a_correction_that_does_not_hold_is_dropped(site: Path) -> None:
    answer = answered(site, supports("contradicts", "Zoe did."), supports("unclear"), supports())
    assert [claim.text for claim in answer.claims] == ["It was raining."]


def test_an_unclear_claim_stays_beside_a_supported_one_and_lowers_confidence(site: Path) -> None:
    answer = answered(site, supports(), supports("unclear"))
    assert [claim.support for claim in answer.claims] == ["supports", "unclear"]
    assert answer.confidence == pytest.approx(0.8 * 0.75)


@pytest.mark.parametrize("verdict", ["unclear", "contradicts"])
def test_where_nothing_is_supported_nothing_is_claimed(site: Path, verdict: str) -> None:
    answer = answered(site, supports(verdict))
    assert answer.status is AnswerStatus.unsupported and not answer.claims and answer.confidence is None


def test_verification_can_be_switched_off(site: Path) -> None:
    answer = answered(site, supports("contradicts"), verify=False)
    assert [claim.support for claim in answer.claims] == [None, None]


def test_claims_for_which_no_budget_is_left_stay_and_a_warning_says_so(site: Path) -> None:
    answer = answer_of(asked(site, crew(answerer=two_claims), max_steps=2))
    assert [claim.support for claim in answer.claims] == ["supports", None]
    assert any("1 claims were not verified" in warning for warning in answer.warnings)


def test_a_verifier_that_never_says_anything_usable_leaves_the_claims_as_they_are(site: Path) -> None:
    answer = answered(site, {"verdict": "perhaps"})
    assert [claim.support for claim in answer.claims] == [None, None]
    assert any("verifier" in warning for warning in answer.warnings)


def test_a_verdict_is_a_step(site: Path) -> None:
    verdicts = [step for step in asked(site, crew(answerer=two_claims)) if isinstance(step, Verdict)]
    assert [(v.claim, v.support) for v in verdicts] == [
        ("Bob took crate 25.", "supports"),
        ("It was raining.", "supports"),
    ]
