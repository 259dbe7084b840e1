"""Names of caches that are known by their address alone."""

import pytest

from fleet import addresses
from launcher import preparing
from launcher.trouble import LauncherError


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("redis://localhost:6379", "localhost"),
        ("redis://user:secret@Cache-1.Example.org:7000/0", "cache-1-example-org-7000"),
        ("rediss://10.0.0.5", "10-0-0-5"),
        ("redis://[::1]:7001", "1-7001"),
        ("redis://one.example.org:1,two.example.org:2", "one-example-org-1"),
        ("valkey://10.0.0.5:6379", "10-0-0-5"),
        ("memcached://10.0.0.5:11211", "10-0-0-5-11211"),
        ("memcached+discovery://pages.example.org", "pages-example-org"),
    ],
)
def test_a_cache_is_called_after_its_host(address: str, name: str) -> None:
    assert preparing.cache_name(address) == name


@pytest.mark.parametrize("address", ["localhost:6379", "http://example.org", "redis://", "redis://host:port"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(LauncherError, match="not the address of a cache"):
        preparing.cache_name(address)


def test_bin_up_takes_what_the_form_takes() -> None:
    assert set(addresses.SCHEMES) == preparing.SCHEMES
