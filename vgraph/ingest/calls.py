"""Model calls that are remembered: each answer is kept in the database as soon as it comes, and the same question is answered from there.

So the code that asks stays plain: a run that was killed asks again only what was in flight, a failed call is asked again by the next run,
and a document made anew asks only what has changed. A call is told by its stage, its model and its request; see remembered.py for who asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vgraph.errors import BadReply, BudgetReached, MissingDependency, ModelError, Stopped
from vgraph.ingest.keys import content_key
from vgraph.ingest.options import described
from vgraph.models.meter import metered
from vgraph.store.ledgers import Ledgers
from vgraph.types import Spent, Usage

T = TypeVar("T")
_CONCERNING: ContextVar[str | None] = ContextVar("chunk", default=None)


@contextmanager
def concerning(chunk: str) -> Iterator[None]:
    """What is asked in the block is asked for this chunk (its key): the ledger says so."""
    token = _CONCERNING.set(chunk)
    try:
        yield
    finally:
        _CONCERNING.reset(token)


# --- what calls cost -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens, and per minute of sound."""

    input: float = 0.0
    output: float = 0.0
    minute: float = 0.0

    def of(self, usage: Usage, minutes: float = 0.0) -> float:
        tokens = usage.input_tokens * self.input + usage.output_tokens * self.output
        return tokens / 1_000_000 + minutes * self.minute


FREE = Price()
NO_TOKENS = Usage()
GRAPH = "graph"
"""Begins the keys of calls that belong to no one document."""
FINAL = ("truncated", "too_long")
"""Kinds of BadReply that the same question will always meet: remembered as answers, so that whoever asks in halves does so at once."""


class Budget:
    """What all calls of a run together may cost: tokens and money, None for no end. Safe to use from several threads.

    A call is let through while what was spent and what is expected of the calls under way stays within, and waits for those while it does
    not; so the cap is passed by no more than what calls under way cost beyond what was expected of them.
    """

    def __init__(self, max_tokens: int | None = None, max_money: float | None = None) -> None:
        self._max_tokens, self._max_money = max_tokens, max_money
        self._changed = threading.Condition()
        self.tokens, self.money = 0, 0.0
        self._expected: dict[int, tuple[int, float]] = {}

    @contextmanager
    def spending(self, tokens: int, money: float) -> Iterator[Callable[[Usage, float], None]]:
        """Room for a call that is expected to cost so much; the block tells what it did cost. Raises BudgetReached where there is none."""
        mark = self._reserve(tokens, money)
        try:
            yield self.spent
        finally:
            with self._changed:
                del self._expected[mark]
                self._changed.notify_all()

    def spent(self, usage: Usage, money: float) -> None:
        with self._changed:
            self.tokens += usage.input_tokens + usage.output_tokens
            self.money += money

    def _reserve(self, tokens: int, money: float) -> int:
        with self._changed:
            while lack := self._lack(tokens, money):
                if not self._expected:
                    raise BudgetReached(
                        f"the next call would pass the cap of {lack}; what was answered is kept, and a higher cap goes on from there"
                    )
                self._changed.wait()
            mark = max(self._expected, default=0) + 1
            self._expected[mark] = (tokens, money)
            return mark

    def _lack(self, tokens: int, money: float) -> str:
        """The cap under which there is no room for a call, in words; empty where there is."""
        held = self._expected.values()
        if self._max_tokens is not None and self.tokens + tokens + sum(t for t, _ in held) > self._max_tokens:
            return f"{self._max_tokens} tokens ({self.tokens} are spent; VGRAPH_FLOW__MAX_TOKENS)"
        if self._max_money is not None and self.money + money + sum(m for _, m in held) > self._max_money:
            return f"{self._max_money:g} in money ({self.money:.4f} is spent; VGRAPH_FLOW__MAX_MONEY)"
        return ""


class Gates:
    """How many calls of a model may run at once: as many as an endpoint is given, one of a model in this process."""

    def __init__(self, at_once: int = 4) -> None:
        self._endpoint = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._local: dict[int, threading.RLock] = {}

    def of(self, model: Any) -> AbstractContextManager[Any]:
        return self._endpoint if is_remote(model) else self.alone(model)

    def alone(self, model: Any) -> AbstractContextManager[Any]:
        """The turn at a model of this process; one that answers over the network takes its turns by itself, where it is remembered."""
        if is_remote(model):
            return nullcontext()
        with self._lock:
            return self._local.setdefault(id(model), threading.RLock())


def is_remote(model: Any) -> bool:
    """Whether a model answers over the network, so that its calls cost money and may run side by side."""
    return bool(str(model.name).startswith("openai:"))


# --- asking ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a model. `request` is a hash of all that its answer depends on; `expected` what it will cost, for the cap."""

    stage: str
    model: Any
    request: str
    expected: Usage = NO_TOKENS
    minutes: float = 0.0


class Locks:
    """A lock for each name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.RLock] = {}

    def of(self, name: str) -> AbstractContextManager[Any]:
        with self._lock:
            return self._locks.setdefault(name, threading.RLock())


@dataclass(slots=True)
class Shared:
    """What all documents of a run share: the cap, the gates, the prices, and whether to stop."""

    budget: Budget = field(default_factory=Budget)
    gates: Gates = field(default_factory=Gates)
    prices: Mapping[str, Price] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    documents: Locks = field(default_factory=Locks)
    """One thread at a time is at a document: the same file may be named twice."""
    width: int = 4
    """How many calls of one document are under way at once."""
    ahead: int = 2
    """How many segments are decoded ahead of the models."""

    def check(self) -> None:
        if self.stop.is_set():
            raise Stopped("stopped; what was finished is kept, and the same command goes on from there")

    @contextmanager
    def paying(self, stage: str, model: Any, expected: Usage = NO_TOKENS, minutes: float = 0.0) -> Iterator[Receipt]:
        """A call in its turn and within the cap; the receipt tells afterwards what it cost. Raises BudgetReached and Stopped before it."""
        price = self.prices.get(stage, FREE) if is_remote(model) else FREE
        tokens = expected.input_tokens + expected.output_tokens
        receipt = Receipt()
        with self.gates.of(model):
            self.check()
            with self.budget.spending(tokens, price.of(expected, minutes)) as spent, metered() as meter:
                begun = time.perf_counter()
                try:
                    yield receipt
                finally:
                    receipt.usage, receipt.seconds = meter.usage, time.perf_counter() - begun
                    receipt.money = price.of(meter.usage, 0.0 if receipt.failed else minutes)
                    spent(meter.usage, receipt.money)


@dataclass(slots=True)
class Receipt:
    """What a call cost, once it is over. Whoever made it says whether it failed: then its minutes of sound cost nothing."""

    usage: Usage = NO_TOKENS
    seconds: float = 0.0
    money: float = 0.0
    failed: bool = False


class Calls:
    """The remembered calls of one document, or (None) of the whole graph; safe to use from several threads."""

    def __init__(self, ledgers: Ledgers, document: str | None, shared: Shared) -> None:
        self._ledgers, self._document, self._shared = ledgers, document, shared
        self._known: set[str] | None = None
        self._lock = threading.Lock()
        self._spent: dict[str, Spent] = {}
        self.used: set[str] = set()

    def answer(self, call: Call, ask: Callable[[], Any]) -> Any:
        """The JSON value of an answer, remembered or asked for now. Raises what `ask` raises; BudgetReached and Stopped before."""
        return self.answers([call], lambda _: [ask()])[0]

    def answers(self, calls: Sequence[Call], ask: Callable[[Sequence[int]], Sequence[Any]]) -> list[Any]:
        """The values of several calls of one model, in order; `ask` is given the indexes of those that are new, all at once."""
        keys = [self._key(call) for call in calls]
        before = self._remembered(keys)
        values = {key: _told(entry["result"]) for key, entry in before.items() if entry["state"] == "done"}
        new = [index for index, key in enumerate(keys) if key not in values and key not in keys[:index]]
        if new:
            entries = {keys[index]: (calls[index], before.get(keys[index], {}).get("attempts", 0) + 1) for index in new}
            values |= zip(entries, self._ask(entries, lambda: ask(new)), strict=True)
        return [values[key] for key in keys]

    def recall(self, calls: Sequence[Call]) -> list[Any] | None:
        """The values of calls that were all answered before; None where one was not."""
        keys = [self._key(call) for call in calls]
        known = self._remembered(keys)
        if any(known.get(key, {}).get("state") != "done" for key in keys):
            return None
        return [known[key]["result"] for key in keys]

    def _key(self, call: Call) -> str:
        key = f"{self._document or GRAPH}-{content_key(call.stage, described(call.model), call.request)}"
        with self._lock:
            self.used.add(key)
        return key

    def _remembered(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        with self._lock:
            if self._known is None:
                self._known = set(self._ledgers.call_keys(self._document))
            known = [key for key in dict.fromkeys(keys) if key in self._known]
        return self._ledgers.calls(known) if known else {}

    def forget(self, stages: Sequence[str]) -> None:
        """Let go of calls of stages that ran whole in this run, but did not ask for them."""
        self._ledgers.forget_calls(self._document, stages, sorted(self.used))

    def spent(self) -> dict[str, Spent]:
        """What this run spent, by stage."""
        with self._lock:
            return dict(self._spent)

    def _ask(self, entries: Mapping[str, tuple[Call, int]], ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Ask what is new as one request to the model, and keep how it ended before anything else is done with it."""
        outcome, cost = self._request([call for call, _ in entries.values()], ask)
        records, costs = (
            [],
            [cost, *[Spent()] * (len(entries) - 1)],
        )  # one request: its cost stands with its first answer
        answers = outcome.values if outcome.error is None else [_final(outcome.error)] * len(entries)
        for (key, (call, attempts)), part, value in zip(entries.items(), costs, answers, strict=True):
            records.append(self._record(key, call, attempts, part, value, outcome.error))
        with self._lock:
            stage = next(iter(entries.values()))[0].stage
            self._spent[stage] = self._spent.get(stage, Spent()) + cost
            if self._known is not None:
                self._known |= entries.keys()
        self._ledgers.write(records)
        if outcome.error is not None:
            raise outcome.error
        return answers

    def _request(self, calls: Sequence[Call], ask: Callable[[], Sequence[Any]]) -> tuple[_Outcome, Spent]:
        expected = sum((each.expected for each in calls), NO_TOKENS)
        minutes = sum(each.minutes for each in calls)
        with self._shared.paying(calls[0].stage, calls[0].model, expected, minutes) as receipt:
            outcome = _outcome(ask)
            receipt.failed = outcome.error is not None
        used = receipt.usage
        failed = int(receipt.failed)
        return outcome, Spent(1, failed, used.input_tokens, used.output_tokens, receipt.seconds, receipt.money)

    def _record(
        self, key: str, call: Call, attempts: int, cost: Spent, value: Any, error: ModelError | None
    ) -> dict[str, Any]:
        return {
            "_key": key,
            "kind": "call",
            "document": self._document,
            "chunk": _CONCERNING.get(),
            "stage": call.stage,
            "model": call.model.name,
            "config": call.request,
            "state": "done" if error is None or value is not None else "failed",
            "result": value,
            "error": None if error is None else str(error),
            "input_tokens": cost.input_tokens,
            "output_tokens": cost.output_tokens,
            "money": cost.money,
            "seconds": round(cost.seconds, 3),
            "attempts": attempts,
        }


def _final(error: ModelError) -> Any:
    """A failure that asking again cannot mend, as it is remembered: what was asked is too long, or its answer is."""
    if not isinstance(error, BadReply) or error.kind not in FINAL:
        return None
    facts = {"kind": error.kind, "stage": error.stage, "model": error.model, "said": error.said}
    return {"bad_reply": {"message": str(error), **facts}}


def _told(value: Any) -> Any:
    """A remembered answer; raises BadReply where the answer was one."""
    if isinstance(value, dict) and "bad_reply" in value:
        facts = value["bad_reply"]
        raise BadReply(facts.pop("message"), **facts)
    return value


@dataclass(frozen=True, slots=True)
class _Outcome:
    values: Sequence[Any] = ()
    error: ModelError | None = None


def _outcome(ask: Callable[[], Sequence[Any]]) -> _Outcome:
    try:
        return _Outcome(ask())
    except MissingDependency:
        raise
    except ModelError as error:
        return _Outcome(error=error)
