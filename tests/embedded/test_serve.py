"""The engine over a real socket: what drivers, curl and hostile pages send, several at a time, across stops and kills."""

from __future__ import annotations

import base64
import gzip
import hmac
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from arango.client import ArangoClient
from arango.exceptions import ArangoServerError
from arango.http import DefaultHTTPClient, DeflateRequestCompression

from vgraph.embedded.engine import Engine
from vgraph.embedded.errors import ArangoError
from vgraph.embedded.serve import serving

Db = Any
LIMIT = 1_000_000


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("served") / "db.sqlite", max_body=LIMIT) as found:
        yield found


@contextmanager
def opened(url: str, name: str = "_system", password: str = "", **options: Any) -> Iterator[Db]:
    client = ArangoClient(hosts=url, http_client=DefaultHTTPClient(retry_attempts=0), **options)
    try:
        yield client.db(name, password=password)
    finally:
        client.close()


@pytest.fixture
def db(url: str, request: pytest.FixtureRequest) -> Iterator[Db]:
    """A database of its own for one test."""
    name = request.function.__name__[:60]
    with opened(url) as system:
        system.create_database(name)
        with opened(url, name) as found:
            yield found
        system.delete_database(name)


class Raw:
    """One connection without a driver; `ask` gives (status, headers, body)."""

    def __init__(self, url: str) -> None:
        self.address = url.removeprefix("http://")
        self.connection = http.client.HTTPConnection(self.address, timeout=30)

    def ask(
        self, method: str, path: str, body: Any = None, *, user: str | None = "root:", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            sent["authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        self.connection.request(method, path, body=body, headers=sent, encode_chunked=isinstance(body, Iterator))
        answer = self.connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def close(self) -> None:
        self.connection.close()


def ask(url: str, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own."""
    with closing(Raw(url)) as connection:
        return connection.ask(method, path, body, **more)


@pytest.fixture
def raw(url: str) -> Iterator[Raw]:
    with closing(Raw(url)) as found:
        yield found


def number(body: bytes) -> int:
    found: int = json.loads(body)["errorNum"]
    return found


# --- the driver -----------------------------------------------------------------------------------------------------------


def test_the_default_client_of_python_arango_works(db: Db) -> None:
    people = db.create_collection("people")
    people.import_bulk([{"_key": f"p{n}", "n": n} for n in range(2500)])
    assert people.get("p7")["n"] == 7
    cursor = db.aql.execute(
        "FOR p IN people FILTER p.n < @n SORT p.n RETURN p.n", bind_vars={"n": 2000}, batch_size=300
    )
    assert list(cursor) == list(range(2000))
    with pytest.raises(ArangoServerError) as caught:
        db.aql.execute("FOR p IN")
    assert caught.value.error_code == 1501


def test_graphs_and_stream_transactions_work(db: Db) -> None:
    graph = db.create_graph(
        "g", [{"edge_collection": "e", "from_vertex_collections": ["v"], "to_vertex_collections": ["v"]}]
    )
    graph.vertex_collection("v").insert_many([{"_key": "a"}, {"_key": "b"}])
    graph.edge_collection("e").insert({"_from": "v/a", "_to": "v/b"})
    assert list(db.aql.execute("FOR x IN OUTBOUND 'v/a' GRAPH 'g' RETURN x._key")) == ["b"]
    transaction = db.begin_transaction(write=["v"])
    transaction.collection("v").insert({"_key": "c"})
    assert not db.collection("v").has("c")
    transaction.commit_transaction()
    assert db.collection("v").has("c")


def test_background_jobs_work(db: Db) -> None:
    job = db.begin_async_execution().aql.execute("RETURN 1 + 1")
    while job.status() != "done":
        pass
    assert list(job.result()) == [2]


def test_compressed_requests_and_answers_are_understood(url: str, db: Db) -> None:
    options = {"request_compression": DeflateRequestCompression(level=1), "response_compression": "gzip"}
    with opened(url, db.name, **options) as packed:
        packed.create_collection("c").insert({"_key": "long", "text": "word " * 10_000})
        assert packed.collection("c").get("long")["text"] == "word " * 10_000


# --- bodies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_body_is_unpacked(raw: Raw, name: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(b'{"query": "RETURN LENGTH(@text)", "bindVars": {"text": "' + b"x" * 5000 + b'"}}')
    status, _, answer = raw.ask("POST", "/_api/cursor", body, content_encoding=name)
    assert (status, json.loads(answer)["result"]) == (201, [5000])


@pytest.mark.parametrize("body", [b"not packed", gzip.compress(b'{"query": "RETURN 1"}')[:-9], b""])
def test_a_body_that_is_not_what_its_encoding_says_is_refused(raw: Raw, body: bytes) -> None:
    status, _, answer = raw.ask("POST", "/_api/cursor", body, content_encoding="gzip")
    assert (status, number(answer)) == (400, 400)


def test_an_unknown_encoding_is_refused(raw: Raw) -> None:
    assert raw.ask("POST", "/_api/cursor", b"{}", content_encoding="br")[0] == 415


def test_what_unpacks_beyond_the_limit_is_refused(raw: Raw) -> None:
    assert raw.ask("POST", "/_api/cursor", gzip.compress(b" " * (LIMIT + 1)), content_encoding="gzip")[0] == 413


def test_a_body_beyond_the_limit_is_refused_and_the_server_goes_on(url: str, raw: Raw) -> None:
    assert raw.ask("POST", "/_api/cursor", b" " * (LIMIT + 1))[0] == 413
    assert raw.ask("POST", "/_api/cursor", iter([b" " * 65536] * 17))[0] == 413
    assert ask(url, "GET", "/_api/version")[0] == 200


def test_who_sends_no_credentials_may_not_send_much_either(raw: Raw) -> None:
    assert raw.ask("POST", "/_api/cursor", b" " * 100_000, user=None)[0] == 413
    assert raw.ask("POST", "/_api/cursor", b" " * 1000, user=None)[0] == 401


def test_a_chunked_body_arrives_whole(raw: Raw) -> None:
    status, _, answer = raw.ask("POST", "/_api/cursor", iter([b'{"query": ', b'"RETURN ', b'1"}']))
    assert (status, json.loads(answer)["result"]) == (201, [1])


def test_an_announced_body_is_waited_for(url: str) -> None:
    """Expect: 100-continue, which curl sends before large bodies."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        body = b'{"query": "RETURN 1"}'
        head = f"POST /_api/cursor HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic cm9vdDo=\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(4000).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_answer_is_compressed_for_who_asks_for_it(raw: Raw, encoding: str) -> None:
    body = b'{"query": "RETURN REPEAT(\'word \', 5000)"}'
    _, headers, packed = raw.ask("POST", "/_api/cursor", body, accept_encoding=encoding)
    assert headers["content-encoding"] == encoding
    assert json.loads(zlib.decompress(packed, wbits=zlib.MAX_WBITS | 32))["result"] == ["word " * 5000]


@pytest.mark.parametrize("offer", ["gzip, deflate", "identity", "gzip;q=0", ""])
def test_within_one_machine_a_library_that_offers_everything_is_answered_plainly(raw: Raw, offer: str) -> None:
    _, headers, body = raw.ask(
        "POST", "/_api/cursor", b'{"query": "RETURN REPEAT(\'a\', 9000)"}', accept_encoding=offer
    )
    assert "content-encoding" not in headers
    assert json.loads(body)["result"] == ["a" * 9000]


# --- paths and methods ------------------------------------------------------------------------------------------------------


def test_percent_encoding_is_undone_part_by_part(raw: Raw, db: Db) -> None:
    key = "a@b(c)+d,e=f;g$h!i*j'k:l%2F"
    collection = db.create_collection("odd")
    raw.ask("POST", f"/_db/{db.name}/_api/document/odd", json.dumps({"_key": key, "n": 1}))
    encoded = "".join(f"%{byte:02X}" for byte in key.encode())
    status, _, body = raw.ask("GET", f"/_db/{db.name}/_api/document/%6Fdd/{encoded}")
    assert (status, json.loads(body)["_key"]) == (200, key)
    assert collection.count() == 1


def test_query_strings_are_decoded(raw: Raw, db: Db) -> None:
    db.create_collection("c")
    path = f"/_db/{db.name}/_api/import?collection=%63&type=documents&details=true"
    status, _, body = raw.ask("POST", path, b'{"_key":"a"}\n{"_key":"a"}\n')
    assert (status, json.loads(body)["created"], len(json.loads(body)["details"])) == (201, 1, 1)


def test_one_connection_serves_many_requests(raw: Raw) -> None:
    raw.ask("GET", "/_api/version")
    first = raw.connection.sock
    for method, path in (
        ("GET", "/_api/version"),
        ("HEAD", "/_api/document/no/no"),
        ("GET", "/nowhere"),
        ("OPTIONS", "/"),
    ):
        raw.ask(method, path)
    assert first is not None and raw.connection.sock is first


def test_an_answer_to_head_has_no_body(raw: Raw, db: Db) -> None:
    db.create_collection("c").insert({"_key": "a"})
    status, headers, body = raw.ask("HEAD", f"/_db/{db.name}/_api/document/c/a")
    assert (status, body) == (200, b"")
    assert headers["etag"]


def test_an_unchanged_document_is_not_sent_again(raw: Raw, db: Db) -> None:
    rev = db.create_collection("c").insert({"_key": "a"})["_rev"]
    status, headers, body = raw.ask("GET", f"/_db/{db.name}/_api/document/c/a", if_none_match=f'"{rev}"')
    assert (status, body, "content-length" in headers) == (304, b"", False)


def test_options_names_the_methods_and_allows_no_other_origin(raw: Raw) -> None:
    status, headers, _ = raw.ask("OPTIONS", "/_api/version", user=None)
    assert status == 200
    assert "PATCH" in headers["allow"]
    assert not [name for name in headers if name.startswith("access-control")]


def test_an_unknown_method_or_path_is_an_error_of_the_right_kind(raw: Raw) -> None:
    assert raw.ask("BREW", "/_api/version")[0] == 405
    assert raw.ask("GET", "/_api/coffee")[0] == 404


def test_a_path_with_line_breaks_cannot_write_headers(raw: Raw, db: Db) -> None:
    status, headers, _ = raw.ask("GET", f"/_db/{db.name}/_api/collection/a%0d%0aset-cookie:%20x/properties")
    assert status in (400, 404)
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "text", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 3_000_000]
)
def test_what_is_not_http_is_refused_and_the_server_goes_on(url: str, text: bytes) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        try:
            connection.sendall(text)
            answer = connection.recv(4000)
        except ConnectionError:
            answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert ask(url, "GET", "/_api/version")[0] == 200


def test_who_goes_away_in_the_middle_of_a_body_harms_nobody(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = f"POST /_api/cursor HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic cm9vdDo=\r\nContent-Length: 1000\r\n\r\n"
        connection.sendall(head.encode() + b'{"query"')
    assert ask(url, "GET", "/_api/version")[0] == 200


# --- who may come in --------------------------------------------------------------------------------------------------------


def test_root_has_no_password_at_first_and_a_wrong_one_is_refused(raw: Raw) -> None:
    assert raw.ask("GET", "/_api/version")[0] == 200
    status, headers, body = raw.ask("GET", "/_api/version", user="root:wrong")
    assert (status, number(body)) == (401, 11)
    assert "Basic" in headers["www-authenticate"]
    assert raw.ask("GET", "/_api/version", user=None)[0] == 401


def test_a_token_opens_the_door_and_a_forged_one_does_not(raw: Raw) -> None:
    _, _, body = raw.ask("POST", "/_open/auth", b'{"username": "root", "password": ""}', user=None)
    token = json.loads(body)["jwt"]
    assert raw.ask("GET", "/_api/version", user=None, authorization=f"bearer {token}")[0] == 200
    assert raw.ask("GET", "/_api/version", user=None, authorization=f"bearer {token[:-3]}abc")[0] == 401


def test_a_secret_that_is_given_makes_tokens_of_others_valid(tmp_path: Path) -> None:
    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    signed = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(b'{"iss":"arangodb","server_id":"me"}')
    token = (signed + b"." + part(hmac.digest(b"shared", signed, "sha256"))).decode()
    with serving(tmp_path / "db.sqlite", jwt_secret="shared") as url:
        assert ask(url, "GET", "/_api/version", user=None, authorization=f"bearer {token}")[0] == 200
    with serving(tmp_path / "db.sqlite") as url:
        assert ask(url, "GET", "/_api/version", user=None, authorization=f"bearer {token}")[0] == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8529", "127.0.0.1.evil.example", "[::1", "192.168.1.1", " "]
)
def test_a_name_that_is_not_loopback_is_refused_on_loopback(raw: Raw, host: str) -> None:
    status, _, body = raw.ask("GET", "/_api/version", host=host)
    assert (status, number(body)) == (403, 11)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8529", "127.0.0.1", "127.1.2.3:1", "[::1]:8529"])
def test_every_loopback_name_is_answered(raw: Raw, host: str) -> None:
    assert raw.ask("GET", "/_api/version", host=host)[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9"])
def test_pages_of_another_origin_are_refused(raw: Raw, origin: str) -> None:
    assert raw.ask("POST", "/_api/cursor", b'{"query": "RETURN 1"}', origin=origin)[0] == 403


def test_an_address_that_others_reach_needs_passwords(tmp_path: Path) -> None:
    file = tmp_path / "db.sqlite"
    with pytest.raises(ArangoError, match="user root has no password"), serving(file, host="0.0.0.0"):
        raise AssertionError
    with serving(file, host="0.0.0.0", password="secret") as url, opened(url, password="secret") as db:
        assert db.version()
        db.create_user("eve", "")
    with pytest.raises(ArangoError, match="user eve has no password"), serving(file, host="0.0.0.0"):
        raise AssertionError
    with serving(file) as url, pytest.raises(ArangoServerError), opened(url) as db:
        db.collections()  # root's password stays


def test_a_name_of_a_machine_is_answered_where_others_may_come_in(tmp_path: Path) -> None:
    with serving(tmp_path / "db.sqlite", host="0.0.0.0", password="secret") as url:
        assert ask(url, "GET", "/_api/version", user="root:secret", host="graph.example:8529")[0] == 200


def test_a_port_that_is_taken_is_an_error(url: str, tmp_path: Path) -> None:
    port = int(url.rpartition(":")[2])
    with pytest.raises(ArangoError, match="cannot listen"), serving(tmp_path / "db.sqlite", port=port):
        raise AssertionError


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be one " * 10)
    before = file.read_bytes()
    with pytest.raises(ArangoError), serving(file):
        raise AssertionError
    assert file.read_bytes() == before


def test_a_folder_holds_the_file(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert ask(url, "GET", "/_api/version")[0] == 200
    assert (tmp_path / "graph.sqlite").exists()


# --- several at a time ------------------------------------------------------------------------------------------------------


def test_a_slow_query_blocks_nobody_and_can_be_killed(raw: Raw, url: str) -> None:
    ended = threading.Event()
    slow: list[int] = []

    def run() -> None:
        slow.append(
            ask(
                url, "POST", "/_api/cursor", b'{"query": "FOR i IN 1..100000 FOR j IN 1..100000 FILTER j < 0 RETURN 1"}'
            )[0]
        )
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    running: list[dict[str, Any]] = []
    while not running:
        running = json.loads(raw.ask("GET", "/_api/query/current")[2])
    assert raw.ask("POST", "/_api/cursor", b'{"query": "RETURN 1"}')[0] == 201
    assert not ended.is_set()
    assert raw.ask("DELETE", f"/_api/query/{running[0]['id']}")[0] == 200
    thread.join(30)
    assert slow == [410]


def test_waiting_writers_do_not_keep_a_commit_from_coming_through(db: Db) -> None:
    db.create_collection("c")
    transaction = db.begin_transaction(exclusive=["c"])
    transaction.collection("c").insert({"_key": "first"})
    threads = [threading.Thread(target=db.collection("c").insert, args=({"_key": f"k{n}"},)) for n in range(20)]
    for thread in threads:
        thread.start()
    assert db.collection("c").count() == 0  # readers see the snapshot
    transaction.commit_transaction()
    for thread in threads:
        thread.join(30)
    assert db.collection("c").count() == 21


def test_several_threads_write_and_read_at_once(url: str, db: Db) -> None:
    db.create_collection("c")

    def work(worker: int) -> list[int]:
        with opened(url, db.name) as mine:
            counts = []
            for n in range(20):
                mine.collection("c").insert({"_key": f"{worker}-{n}", "worker": worker})
                rows = mine.aql.execute("FOR d IN c FILTER d.worker == @w RETURN 1", bind_vars={"w": worker})
                counts.append(len(list(rows)))
            return counts

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(work, range(6))) == [list(range(1, 21))] * 6
    assert db.collection("c").count() == 120


# --- a process of its own -----------------------------------------------------------------------------------------------------

SERVER = """
import sys
from vgraph.embedded.serve import serve
serve(sys.argv[1], port=0, listening=lambda url: print(url, flush=True))
print("stopped", flush=True)
"""


@contextmanager
def process(file: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", SERVER, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_after_what_is_being_written(tmp_path: Path, number: int) -> None:
    with process(tmp_path / "db.sqlite") as (running, url):
        with opened(url) as db:
            db.create_collection("c")
        answers: list[int] = []
        body = b'{"query": "FOR i IN 1..30000 INSERT {n: i} INTO c"}'
        writer = threading.Thread(target=lambda: answers.append(ask(url, "POST", "/_api/cursor", body)[0]))
        writer.start()
        with closing(Raw(url)) as watch:
            while writer.is_alive() and not json.loads(watch.ask("GET", "/_api/query/current")[2]):
                pass
        running.send_signal(number)
        writer.join(60)
        out, err = running.communicate(timeout=60)
        assert (answers, out, err, running.returncode) == ([201], "stopped\n", "", 0)
    with Engine.open(tmp_path / "db.sqlite").reading() as txn:
        assert txn.collection("c").count() == 30_000


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with process(tmp_path / "db.sqlite") as (running, url):
        with opened(url) as db:
            db.create_collection("c")

        def write() -> None:
            for n in range(100_000):
                try:
                    status, _, _ = connection.ask(
                        "POST", "/_api/document/c", json.dumps({"_key": f"k{n}", "text": "x" * 500})
                    )
                except (OSError, http.client.HTTPException):
                    return
                assert status in (201, 202)
                acknowledged.append(f"k{n}")
                if n == 100:
                    enough.set()

        enough = threading.Event()
        connection = Raw(url)
        writer = threading.Thread(target=write)
        writer.start()
        assert enough.wait(30)
        running.send_signal(signal.SIGKILL)
        writer.join(30)
        connection.close()
    with process(tmp_path / "db.sqlite") as (_, url), opened(url) as db:
        found = set(db.collection("c").keys())
    assert set(acknowledged) <= found
    assert len(found) <= len(acknowledged) + 1
