"""docs/caches.md gives rules to copy: they let everything through that Shardwatch sends."""

import re

import pytest
from django.conf import settings

from collectors.client_lists import CLIENT_LIST
from collectors.connections import SETNAME
from collectors.keyscan import abilities, recheck
from collectors.source import Command
from collectors.sources import make_sources

TEXT = (settings.BASE_DIR / "docs" / "caches.md").read_text()
RULES = {rule for line in re.findall(r"^ACL SETUSER .*$", TEXT, re.M) for rule in line.split() if rule[0] in "+%"}
POLLED = [command for source in make_sources("node-1", False) for command in source.commands()]
SCANNED = [command for several in abilities.FIELDS.values() for command in several]
SCANNED += [abilities.MEMORY, abilities.FREQUENCY, recheck.READONLY, recheck.NO_TOUCH, ("SCAN", "0"), ("SELECT", "0")]


def is_allowed(command: Command) -> bool:
    name = str(command[0]).lower()
    return bool({f"+{name}", f"+{name}|{str(command[1]).lower()}" if len(command) > 1 else ""} & RULES)


@pytest.mark.parametrize("command", [*POLLED, CLIENT_LIST, SETNAME, ("PING",)], ids=" ".join)
def test_a_poll_sends_only_what_the_documented_rules_allow(command: Command) -> None:
    assert is_allowed(command)


@pytest.mark.parametrize(
    "command",
    [
        *SCANNED,
        abilities.MEMORY,
        abilities.FREQUENCY,
        recheck.READONLY,
        recheck.NO_TOUCH,
        ("SCAN", "0"),
        ("SELECT", "0"),
    ],
    ids=" ".join,
)
def test_a_scan_sends_only_what_the_documented_rules_allow(command: Command) -> None:
    assert is_allowed(command)
    assert "%R~*" in RULES
