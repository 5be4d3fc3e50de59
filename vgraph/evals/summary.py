"""Outcomes as figures, with bootstrap intervals."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vgraph.evals.qa import Outcome

ROUNDS = 2000
"""Of the bootstrap."""

Interval95 = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Tally:
    """`accuracy` is the share of right ones among all that can be judged; those that failed count as not right."""

    kind: str
    asked: int
    right: int
    wrong: int
    abstained: int
    failed: int
    unjudged: int
    accuracy: float | None
    interval: Interval95 | None


@dataclass(frozen=True, slots=True)
class Summary:
    """`answerable` and `unanswerable` take all kinds together; `kinds` are the answerable ones by kind.

    Of citations: `precision`, the share that shows a true moment; `iou` and `located`, how well they tell where it is; `wrong_camera`;
    `resolving`, the share that leads to a clip which is there. None: nothing was cited, or no true moments are known. `gated` questions
    were asked at a moment, `future_violations` of them saw what came later. Tokens, money and seconds are sums and means of a question.
    """

    name: str
    answerable: Tally
    unanswerable: Tally | None
    exact: float | None
    kinds: tuple[Tally, ...]
    citations: int
    precision: float | None
    iou: float | None
    located: float | None
    wrong_camera: float | None
    resolving: float | None
    gated: int
    future_violations: int
    input_tokens: int
    output_tokens: int
    money: float
    seconds: float
    p95_seconds: float
    steps: float
    methods: tuple[str, ...]
    faults: tuple[str, ...]


def summed_up(name: str, outcomes: Sequence[Outcome]) -> Summary:
    answerable = [one for one in outcomes if one.answerable]
    others = [one for one in outcomes if not one.answerable]
    cited = sum(one.cited for one in outcomes)
    lost = sum(len(one.lost) for one in outcomes)
    spent = [one.seconds for one in outcomes]
    return Summary(
        name=name,
        answerable=tally("answerable", answerable),
        unanswerable=tally("unanswerable", others) if others else None,
        exact=_mean(float(one.exact) for one in others),
        kinds=tuple(tally(kind, [o for o in answerable if o.kind == kind]) for kind in sorted({o.kind for o in answerable})),
        citations=cited,
        precision=_mean(one.precision for one in outcomes),
        iou=_mean(one.iou for one in outcomes),
        located=_mean(None if one.located is None else float(one.located) for one in outcomes),
        wrong_camera=_mean(one.wrong_camera for one in outcomes),
        resolving=1 - lost / cited if cited else None,
        gated=sum(one.gated for one in outcomes),
        future_violations=sum(bool(one.future) for one in outcomes),
        input_tokens=sum(one.input_tokens for one in outcomes),
        output_tokens=sum(one.output_tokens for one in outcomes),
        money=sum(one.money for one in outcomes),
        seconds=_mean(spent) or 0.0,
        p95_seconds=sorted(spent)[int(0.95 * len(spent))] if spent else 0.0,
        steps=_mean(float(one.steps) for one in outcomes) or 0.0,
        methods=tuple(sorted({one.method for one in outcomes if one.method})),
        faults=_faults(outcomes),
    )  # fmt: skip


def _faults(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What must not be: citations that lead nowhere, and anything from after the question."""
    lost = (f"{one.id}: {fault}" for one in outcomes for fault in one.lost)
    future = (f"{one.id}: {fault}" for one in outcomes for fault in one.future)
    return (*lost, *future)


def tally(kind: str, outcomes: Sequence[Outcome]) -> Tally:
    counts = {verdict: sum(one.verdict == verdict for one in outcomes) for verdict in _VERDICTS}
    judged = [float(one.verdict == "right") for one in outcomes if one.verdict != "unjudged"]
    return Tally(kind, len(outcomes), **counts, accuracy=_mean(judged), interval=bootstrap(judged) if judged else None)


_VERDICTS = ("right", "wrong", "abstained", "failed", "unjudged")


def bootstrap(values: Sequence[float], *, rounds: int = ROUNDS, seed: int = 0) -> Interval95:
    """The 2.5 and 97.5 % points of the mean under resampling (percentile bootstrap), the same each time."""
    import numpy as np

    drawn = np.random.default_rng(seed).integers(0, len(values), (rounds, len(values)))
    low, high = np.percentile(np.asarray(values, float)[drawn].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
