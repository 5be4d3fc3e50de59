"""/_api/job, and requests that are answered later (header x-arango-async)."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from vgraph.embedded.errors import ArangoError
from vgraph.embedded.http.context import Context
from vgraph.embedded.http.router import Routes
from vgraph.embedded.http.wire import Answer, empty, failure, json_answer

routes = Routes()

_THREADS: Final = 4
_ID: Final = "x-arango-async-id"


@dataclass(slots=True)
class Job:
    """A request that runs on its own; `answer` is there once it is done."""

    id: str
    context: Context
    started: float
    answer: Answer | None = None


class Jobs:
    """Requests running in the background, and their answers until they are fetched."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._unanswered: dict[str, Job] = {}  # also those nobody will ask for any more
        self._ids = itertools.count(int(time.time() * 1000))
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def start(self, context: Context, *, keep: bool) -> Answer:
        """Accept a request: 202, with the job's id when its answer is to be kept."""
        job = Job(str(next(self._ids)), context, time.time())
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedded-job")
            if keep:
                self._jobs[job.id] = job
            self._unanswered[job.id] = job
            self._pool.submit(self._run, job)
        return empty(202, {_ID: job.id} if keep else {})

    def _run(self, job: Job) -> None:
        job.answer = failure(ArangoError(1500)) if job.context.cancelled else job.context.app.answer(job.context)
        del self._unanswered[job.id]

    def get(self, name: str, context: Context) -> Job:
        """A job of this user; 404."""
        job = self._jobs.get(name)
        if job is None or job.context.user != context.user:
            raise ArangoError(404)
        return job

    def take(self, name: str, context: Context) -> Job:
        """A finished job, which is then forgotten."""
        job = self.get(name, context)
        if job.answer is not None:
            self._jobs.pop(name, None)
        return job

    def listed(self, context: Context, *, finished: bool, count: int) -> list[str]:
        """Ids of this user's jobs, newest first."""
        own = [job for job in list(self._jobs.values()) if job.context.user == context.user]
        names = [job.id for job in own if (job.answer is not None) == finished]
        return names[::-1][:count]

    def forget(self, name: str, context: Context) -> None:
        """Drop a job's answer; 404."""
        self.get(name, context)
        self._jobs.pop(name, None)

    def forget_older(self, stamp: float, context: Context) -> None:
        """Drop this user's jobs started before a moment; those that run do so to their end."""
        for job in list(self._jobs.values()):
            if job.started < stamp and job.context.user == context.user:
                self._jobs.pop(job.id, None)

    def wait(self) -> None:
        """Come back when no job runs."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def close(self) -> None:
        """Stop the queries that run, and wait for the rest."""
        for job in list(self._unanswered.values()):
            job.context.app.queries.kill_of(job.context)
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._jobs.clear()


@routes.on("GET", "/_api/job/{name}")
def status(context: Context, name: str) -> Answer:
    jobs = context.app.jobs
    if name in ("pending", "done"):
        asked = context.request.query.get("count") or "100"
        if not (asked.isascii() and asked.isdigit()):
            raise ArangoError(400, "expecting a number for 'count'")
        count = int(asked[:18])
        return json_answer(jobs.listed(context, finished=name == "done", count=count))
    if not name.isdigit():
        raise ArangoError(400)
    return empty(204 if jobs.get(name, context).answer is None else 200)


@routes.on("PUT", "/_api/job/{name}")
def fetch(context: Context, name: str) -> Answer:
    job = context.app.jobs.take(name, context)
    if job.answer is None:
        return empty(204)
    answer = job.answer
    return Answer(answer.status, answer.body, {**answer.headers, _ID: name})


@routes.on("PUT", "/_api/job/{name}/cancel")
def cancel(context: Context, name: str) -> Answer:
    job = context.app.jobs.get(name, context)
    context.app.queries.kill_of(job.context)
    return json_answer({"result": True})


@routes.on("DELETE", "/_api/job/{name}")
def delete(context: Context, name: str) -> Answer:
    jobs = context.app.jobs
    if name == "all":
        jobs.forget_older(float("inf"), context)
    elif name == "expired":
        jobs.forget_older(float(context.request.needed("stamp")), context)
    else:
        jobs.forget(name, context)
    return json_answer({"result": True})


@routes.on("PUT", "/_api/job")
def missing_job(context: Context) -> Answer:
    raise ArangoError(400)
