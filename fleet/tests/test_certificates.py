import pytest
from django.core.exceptions import ValidationError

from fleet.certificates import certificates, check_pair, private_key
from fleet.tests.certificates import made_pair


def test_it_reads_every_certificate_of_a_bundle() -> None:
    bundle = made_pair("one")[0] + made_pair("two")[0]

    assert len(certificates(bundle)) == 2


@pytest.mark.parametrize(
    "text", ["nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "証明書"]
)
def test_it_refuses_what_is_no_certificate(text: str) -> None:
    with pytest.raises(ValidationError, match="No certificate can be read"):
        certificates(text)


def test_it_refuses_a_text_of_megabytes() -> None:
    with pytest.raises(ValidationError, match="longer than"):
        certificates("x" * 1_000_000)


def test_it_accepts_a_key_of_its_certificate() -> None:
    check_pair(*made_pair())


def test_it_refuses_the_key_of_another_certificate() -> None:
    with pytest.raises(ValidationError, match="does not belong"):
        check_pair(made_pair("one")[0], made_pair("two")[1])


def test_it_asks_for_the_key_without_its_passphrase() -> None:
    with pytest.raises(ValidationError, match="passphrase"):
        private_key(made_pair(passphrase="secret")[1])


def test_it_refuses_a_certificate_in_the_place_of_a_key() -> None:
    with pytest.raises(ValidationError, match="No private key"):
        private_key(made_pair()[0])
