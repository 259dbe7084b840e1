"""OpenFeature's own SDKs with their OFREP providers, as they come, against the read path on a real port.

The default in the code is always the opposite of the answer, so that an SDK that falls back to it is found out.
"""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason

from switches.gate import Gate
from switches.tests.cast import KEY, row, snapshot
from switches.tests.conftest import GateOf

SCRIPT = Path(__file__).parent / "openfeature" / "evaluate.mjs"
# The folder in which bin/test had npm install what openfeature/package.json names.
FOLDER = "SHARDWATCH_OPENFEATURE_JS"
SHOWN = [
    row("off", percent=0),
    row("on", id=2, address="redis://10.0.0.5:7000"),
    row("canary", percent=50, id=3, instances={"pod-1": True, "pod-2": False}),
]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that is overridden
        pass


@pytest.fixture
def gate(gate_of: GateOf) -> Gate:
    return gate_of(snapshot(*SHOWN))


@pytest.fixture
def address(gate: Gate) -> Iterator[str]:
    """The read path on a port of its own."""
    with make_server("127.0.0.1", 0, gate, Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def evaluated(
    address: str, key: str, default: bool, name: str | None = None, token: str = KEY
) -> FlagEvaluationDetails[bool]:
    api.set_provider(OFREPProvider(address, headers_factory=lambda: {"X-API-Key": token}))
    return api.get_client().get_boolean_details(key, default, EvaluationContext(name) if name else None)


ASKED = [("off", None, False), ("off", "pod-1", False), ("on", None, True)]
SPLIT = [("canary", "pod-1", True), ("canary", "pod-2", False)]


@pytest.mark.parametrize(("key", "name", "expected"), [*ASKED, *SPLIT])
def test_the_python_sdk_takes_our_answer(address: str, key: str, name: str | None, expected: bool) -> None:
    found = evaluated(address, key, not expected, name)

    assert (found.value, found.error_code) == (expected, None)
    assert found.variant == ("on" if expected else "off")
    assert found.reason in {Reason.STATIC, Reason.SPLIT}


def test_the_python_sdk_hands_over_where_the_cache_is(address: str) -> None:
    found = evaluated(address, "on", False)

    assert (found.flag_metadata["endpoint_host"], found.flag_metadata["endpoint_port"]) == ("10.0.0.5", 7000)


def test_the_python_sdk_says_that_there_is_no_such_flag(address: str) -> None:
    found = evaluated(address, "none", True)

    assert (found.value, found.error_code) == (True, "FLAG_NOT_FOUND")


def test_the_python_sdk_says_that_the_key_is_wrong(address: str) -> None:
    assert evaluated(address, "off", True, token="swc_wrong").error_code == "GENERAL"


def test_the_python_sdk_takes_old_answers_too(address: str, gate: Gate) -> None:
    gate.board.fresh_until = 0.0

    assert evaluated(address, "off", True).value is False


@pytest.fixture
def node() -> str:
    folder, program = os.environ.get(FOLDER), shutil.which("node")
    if program is None:
        pytest.skip("node is not installed, so that the JavaScript SDK is not tried")
    if not folder or not (Path(folder) / "node_modules" / "@openfeature" / "server-sdk").exists():
        pytest.skip(f"{FOLDER} names no folder with the JavaScript SDK, so that it is not tried")
    return program


def test_the_javascript_sdk_takes_our_answers(address: str, node: str) -> None:
    rows = [*ASKED[::2], *SPLIT, ("none", None, False)]
    asked = [word for key, name, expected in rows for word in (key, name or "", "false" if expected else "true")]

    said = subprocess.run([node, SCRIPT, address, KEY, *asked], capture_output=True, text=True, check=True, timeout=60)

    assert json.loads(said.stdout) == [
        [False, "off", "STATIC", None],
        [True, "on", "STATIC", None],
        [True, "on", "SPLIT", None],
        [False, "off", "SPLIT", None],
        [True, None, "ERROR", "FLAG_NOT_FOUND"],
    ]
