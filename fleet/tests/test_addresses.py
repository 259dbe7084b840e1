"""Addresses as people write, paste and mistype them."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.addresses import Address, AddressError, Credentials, Protocol, parse_address, parse_addresses

HOSTS = st.one_of(
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z0-9]{1,8}){0,3}", fullmatch=True),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(str),
)
ADDRESSES = st.builds(Address, HOSTS, st.integers(1, 65_535), st.booleans(), st.sampled_from(Protocol))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("a", Address("a", 6379, False)),
        ("a:1", Address("a", 1, False)),
        ("a:65535", Address("a", 65_535, False)),
        ("redis://a/", Address("a", 6379, False)),
        ("redis://a/0", Address("a", 6379, False)),
        ("valkey://a", Address("a", 6379, False)),
        ("rediss://a", Address("a", 6379, True)),
        ("valkeys://a:6380", Address("a", 6380, True)),
        ("REDISS://Cache.Example", Address("cache.example", 6379, True)),
        ("[::1]", Address("::1", 6379, False)),
        ("rediss://[2001:db8::1]:7000", Address("2001:db8::1", 7000, True)),
        ("memcached://a", Address("a", 11_211, False, Protocol.MEMCACHED)),
        ("memcacheds://a:1", Address("a", 1, True, Protocol.MEMCACHED)),
        ("memcached+discovery://a", Address("a", 11_211, False, Protocol.DISCOVERY)),
        ("memcacheds+discovery://a", Address("a", 11_211, True, Protocol.DISCOVERY)),
    ],
)
def test_it_reads_one_server(text: str, address: Address) -> None:
    assert parse_address(text) == (address, Credentials("", ""))


@pytest.mark.parametrize(
    ("text", "credentials"),
    [
        ("redis://:secret@a", Credentials("", "secret")),
        ("redis://watch@a", Credentials("watch", "")),
        ("redis://watch:s%3Ac%2Fr%40t@a:1", Credentials("watch", "s:c/r@t")),
        ("redis://:%E7%A7%98@a", Credentials("", "秘")),
        ("redis://u:p@ss@a", Credentials("u", "p@ss")),
        ("watch:secret@a:1", Credentials("watch", "secret")),
    ],
)
def test_it_takes_credentials_out_of_an_address(text: str, credentials: Credentials) -> None:
    address, found = parse_address(text)

    assert found == credentials
    assert address.text in {"redis://a:1", "redis://a:6379"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "Give an address"),
        (" , ,\n\t", "Give an address"),
        ("redis://", "no host"),
        ("redis://:6379", "write redis://host:6379"),
        ("memcacheds://:11211", "write memcacheds://host:11211"),
        ("redis://:secret@", "no host"),
        ("a:0", "1 to 65535"),
        ("a:65536", "1 to 65535"),
        ("a:-1", "1 to 65535"),
        ("a:1.5", "1 to 65535"),
        ("a:６３７９", "1 to 65535"),
        ("redis://[::1", "1 to 65535"),
        ("http://a", "begins with http://"),
        ("memcached+tls://a", "with TLS rediss:// or memcacheds://"),
        ("unix:///run/redis.sock", "begins with unix://"),
        ("redis+sentinel://a", "begins with redis+sentinel://"),
        ("redis://a/5", "Leave out"),
        ("redis://a?db=1", "Leave out"),
        ("redis://a#x", "Leave out"),
        ("redis://a\x7f", "no host"),
        ("a,a", "same server twice"),
        ("redis://a, valkey://a:6379", "same server twice"),
        ("A:1 a:1", "same server twice"),
        ("redis://a rediss://b", "redis:// or rediss:// for all servers of one cache, not both"),
        ("memcached://a memcacheds://b", "memcached:// or memcacheds:// for all"),
        ("memcacheds+discovery://a memcached+discovery://b", "memcached+discovery:// or memcacheds+discovery://"),
        ("redis://a memcached://b", "begin alike"),
        ("memcached://a memcached+discovery://b", "begin alike"),
        ("memcached+discovery://a memcached+discovery://b", "one discovery endpoint"),
    ],
)
def test_it_says_what_is_wrong_with_an_address(text: str, part: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_addresses(text)

    assert part in str(caught.value)


def test_a_long_scheme_is_not_repeated_whole() -> None:
    with pytest.raises(AddressError) as caught:
        parse_address("x" * 5_000 + "://a")

    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    "text", ["redis://a:pw@[::1", "redis://:hunter2@a:99999", "http://u:hunter2@a", "redis://u:hunter2@"]
)
def test_an_error_never_repeats_a_password(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)

    assert "hunter2" not in str(caught.value)


def test_the_first_credentials_of_a_list_count() -> None:
    addresses, credentials = parse_addresses("a, redis://u:one@b, redis://v:two@c")

    assert [address.host for address in addresses] == ["a", "b", "c"]
    assert credentials == Credentials("u", "one")


def test_two_ports_of_one_host_are_two_servers() -> None:
    assert len(parse_addresses("a:1 a:2")[0]) == 2


@given(ADDRESSES)
@settings(max_examples=80, deadline=None)
def test_it_reads_what_it_writes(address: Address) -> None:
    assert parse_address(address.text) == (address, Credentials("", ""))


@given(st.lists(ADDRESSES, min_size=1, max_size=6, unique=True), st.sampled_from([",", " ", ", ", "\r\n", " ,\t, "]))
@settings(max_examples=60, deadline=None)
def test_a_list_may_be_separated_in_any_way(addresses: list[Address], between: str) -> None:
    plain = list({(one.host, one.port): Address(one.host, one.port, True) for one in addresses}.values())

    assert parse_addresses(between.join(one.text for one in plain))[0] == plain


def test_a_list_of_memcached_servers_is_one_cache() -> None:
    addresses, _ = parse_addresses("memcached://a, memcached://b:11212")

    assert [one.text for one in addresses] == ["memcached://a:11211", "memcached://b:11212"]


@given(st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_server_or_an_error(text: str) -> None:
    with suppress(AddressError):
        assert all(0 < one.port < 65_536 and one.host for one in parse_addresses(text)[0])
