"""What code of others may reach from within the fence."""

import dataclasses
import json
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings

from alerts.fence import Fence
from alerts.reach import Reach
from alerts.tests.peers import closed_port

# Each act is tried in a process that has closed the fence around itself.
ACTS = """
import ctypes, os, socket, subprocess, sys
from alerts.fence import Fence
from alerts.reach import Reach

def unix():
    socket.socket(socket.AF_UNIX).connect("/run/some.socket")

def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("localhost", 514))

def write():
    open(os.path.join(sys.prefix, "left-behind"), "w")

acts = {
    "private address": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "name of this machine": lambda: socket.create_connection(("localhost", 9), 1),
    "name past us": lambda: socket.socket().connect(("localhost", 9)),
    "unix": unix,
    "datagram": datagram,
    "program": lambda: subprocess.run(["true"]),
    "shell": lambda: os.system("true"),
    "other program": lambda: os.execv("/bin/true", ["true"]),
    "fork": os.fork,
    "library": lambda: ctypes.CDLL("libc.so.6"),
    "file": lambda: open("/etc/passwd"),
    "way around": lambda: open(sys.prefix + "/../../../../../../etc/passwd"),
    "write": write,
}
Fence(Reach()).close()
for name, act in acts.items():
    try:
        act()
    except PermissionError:
        continue
    print(name)
import colorsys, zoneinfo
zoneinfo.ZoneInfo("Asia/Tokyo")
print("end")
"""


def test_nothing_of_this_machine_is_within_reach() -> None:
    said = subprocess.run(
        [sys.executable, "-c", ACTS], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=60
    )

    assert said.stdout.split("\n") == ["end", ""], said.stderr


def passes(fence: Fence, event: str, *given: Any) -> bool:
    try:
        fence.watch(event, given)
    except PermissionError:
        return False
    return True


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        (("93.184.216.34", 443), True),
        (("2606:2800:220:1:248:1893:25c8:1946", 443, 0, 0), True),
        (("10.0.0.1", 443), False),
        (("::ffff:10.0.0.1", 443, 0, 0), False),
        (("fe80::1%eth0", 443, 0, 2), False),
        (("example.org", 443), False),
        (("", 443), False),
        (("<broadcast>", 443), False),
        (("0x7f.1", 443), False),
        ("/run/docker.sock", False),
        (b"\0abstract", False),
    ],
)
@pytest.mark.parametrize("event", ["socket.connect", "socket.sendto", "socket.sendmsg"])
def test_only_public_addresses_are_open(event: str, address: object, is_open: bool) -> None:
    assert passes(Fence(Reach()), event, None, address) is is_open


def test_what_is_sent_on_a_connection_has_no_address() -> None:
    assert passes(Fence(Reach()), "socket.sendmsg", None, None)


def test_an_address_is_open_once_its_name_was_allowed() -> None:
    fence, port = Fence(Reach(allowed=("localhost",))), closed_port()
    before = passes(fence, "socket.connect", None, ("127.0.0.1", port))

    found = fence.resolve("localhost", port)

    assert ("127.0.0.1", port) in {entry[4] for entry in found}
    assert (before, passes(fence, "socket.connect", None, ("127.0.0.1", port))) == (False, True)
    assert not passes(fence, "socket.connect", None, ("127.0.0.1", port + 1))


def test_a_name_that_is_not_allowed_leads_nowhere() -> None:
    fence = Fence(Reach(allowed=("other",)))

    with pytest.raises(PermissionError):
        fence.resolve("localhost", 443)

    assert fence.refused == "localhost"


def test_addresses_that_the_environment_names_are_open() -> None:
    fence = Fence(Reach(own=(("localhost", 8080),)))

    assert fence.resolve(b"localhost", 8080)
    with pytest.raises(PermissionError):
        fence.resolve(b"localhost", 6379)


def test_the_first_that_was_not_let_through_is_kept() -> None:
    fence = Fence(Reach())

    passes(fence, "subprocess.Popen", "true")
    passes(fence, "open", "/etc/passwd", "r", 0)

    assert (fence.forbidden, fence.refused) == ("subprocess.Popen", "")


def test_files_that_are_open_already_and_modules_may_be_read() -> None:
    fence = Fence(Reach())

    assert passes(fence, "open", 5, "r", 0)
    assert passes(fence, "open", json.__file__, "r", 0)
    assert not passes(fence, "open", json.__file__.encode(), "w", 1)


def test_the_rule_survives_the_way_to_another_process() -> None:
    reach = Reach(("localhost", "10.0.0.0/8"), (("proxy", 8080),))

    assert Reach.from_json(json.loads(json.dumps(dataclasses.asdict(reach)))) == reach
