import asyncio

import pytest
from django.core.exceptions import ValidationError
from pytest_django.fixtures import Settings

from alerts.causes import Cause
from alerts.destinations import TargetError, addresses, reach
from alerts.fields import AddressField
from alerts.http import Answer, moment
from alerts.text import cut, cut_bytes, filled, storable


@pytest.mark.parametrize(
    ("address", "is_open"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to refuse
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        # IPv4 addresses in the clothes of IPv6.
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:a00:1::", False),
    ],
)
def test_only_public_addresses_are_open(address: str, is_open: bool) -> None:
    assert reach().allows("hooks.example.org", 443, address) is is_open


@pytest.mark.parametrize(
    ("entry", "host", "address", "is_open"),
    [
        ("pager.internal", "pager.internal", "10.0.0.1", True),
        ("Pager.Internal", "pager.internal", "10.0.0.1", True),
        ("pager.internal", "other.internal", "10.0.0.1", False),
        ("10.0.0.0/8", "other.internal", "10.0.0.1", True),
        ("10.0.0.0/8", "other.internal", "192.168.0.1", False),
        ("10.0.0.1", "10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "other.internal", "10.0.0.2", False),
        ("fd00::/8", "other.internal", "fd12::1", True),
        ("not/a/network", "other.internal", "10.0.0.1", False),
    ],
)
def test_private_ones_can_be_allowed(entry: str, host: str, address: str, is_open: bool, settings: Settings) -> None:
    settings.ALLOWED_PRIVATE_HOSTS = [entry]

    assert reach().allows(host, 443, address) is is_open


@pytest.mark.parametrize(("port", "is_open"), [(8080, True), (6379, False)])
def test_what_the_environment_points_at_is_open_by_host_and_port(port: int, is_open: bool, settings: Settings) -> None:
    settings.PAGERDUTY_URL = "http://proxy.internal:8080"

    assert reach().allows("proxy.internal", port, "10.0.0.1") is is_open


def test_names_of_this_machine_are_refused() -> None:
    with pytest.raises(TargetError) as caught:
        asyncio.run(addresses("localhost", 80, 5))

    assert caught.value.outcome.cause == Cause.PRIVATE_ADDRESS


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300, ""])
def test_names_that_nobody_knows_may_be_known_later(host: str) -> None:
    with pytest.raises(TargetError) as caught:
        asyncio.run(addresses(host, 80, 5))

    assert caught.value.outcome.cause in {Cause.UNKNOWN_HOST, Cause.PRIVATE_ADDRESS}


@pytest.mark.parametrize("text", ["https://example.org/x?y=z", "http://10.0.0.1:8080", "https://[::1]/"])
def test_addresses_with_a_host_are_taken(text: str) -> None:
    assert AddressField().clean(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "https://",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://user:secret@example.org/",
        "https://example.org/a b",
        "https://example.org/\u2028x",
        "https://[::1",
        "javascript:alert(1)",
        "https://" + "x" * 2_000,
    ],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        AddressField().clean(text)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("5", 5), ("0", 0), ("", None), ("x", None), ("1.5", None), ("²", None)),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_it_reads_retry_after(value: str, seconds: float | None) -> None:
    assert Answer(429, b"", {"retry-after": value}, "").retry_after() == seconds


def test_a_date_without_a_zone_is_utc() -> None:
    found = moment("Sun, 06 Nov 1994 08:49:37")

    assert found is not None
    assert found.isoformat() == "1994-11-06T08:49:37+00:00"


@pytest.mark.parametrize(
    ("text", "limit", "short"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, ""), ("日本語です", 3, "日本…")]
)
def test_texts_are_cut_with_a_mark(text: str, limit: int, short: str) -> None:
    assert cut(text, limit) == short


@pytest.mark.parametrize("limit", range(3, 20))
def test_no_character_is_cut_in_two(limit: int) -> None:
    short = cut_bytes("日本語🚨です", limit)

    assert len(short.encode()) <= limit
    assert short.endswith("…") or short == "日本語🚨です"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a} and {a}", "1/2 and 1/2"),
        ("{b} {} {a b} {", "{b} {} {a b} {"),
        ("https://x.example/{a}", "https://x.example/1%2F2"),
        ("see https://x.example/{a}", "see https://x.example/1/2"),
        ("{c}", "{a}"),
    ],
)
def test_values_are_filled_in_once(text: str, expected: str) -> None:
    assert filled(text, {"a": "1/2", "c": "{a}"}) == expected


def test_texts_are_made_fit_to_be_stored() -> None:
    assert storable({"a\0": ["b\ud83d", ("c\0",), 5, None]}) == {"a": ["b?", ["c"], 5, None]}
