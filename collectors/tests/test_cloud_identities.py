import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.core.exceptions import ValidationError
from google.auth import compute_engine
from google.oauth2 import service_account
from pytest_django.fixtures import Settings

from collectors.cloud.identities import check_key, credentials_of, endpoint_of
from collectors.cloud.models import CloudProject, Credentials
from fleet.secrets import Secret, SecretUnreadableError

EMAIL = "shardwatch@shop-prod.iam.gserviceaccount.com"


@pytest.fixture(scope="module")
def key() -> dict[str, Any]:
    """A key as Google gives it, of an account that does not exist."""
    return key_of_account()


def key_of_account(email: str = EMAIL) -> dict[str, Any]:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    shape = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {
        "type": "service_account",
        "project_id": "shop-prod",
        "private_key_id": "1",
        "private_key": private.private_bytes(*shape).decode(),
        "client_email": email,
        "token_uri": "https://oauth2.googleapis.com/token",
    }


def project_with(key: Secret) -> CloudProject:
    given: dict[str, Any] = {"credentials": Credentials.KEY, "key": key}
    return CloudProject(**given)


def refusal(text: str) -> str:
    with pytest.raises(ValidationError) as raised:
        check_key(text)
    return str(raised.value.messages[0])


def test_a_key_tells_whose_it_is(key: dict[str, Any]) -> None:
    assert check_key(json.dumps(key)) == EMAIL


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("-----BEGIN PRIVATE KEY-----", "not JSON"),
        ("[]", "no key"),
        ('"x"', "no key"),
        ("{}", "service_account"),
        ('{"type": ["x"]}', "service_account"),
        ('{"type": "authorized_user"}', "credentials of a person"),
        ('{"type": "external_account"}', "configuration"),
        ('{"type": "service_account"}', "client_email, private_key, private_key_id, token_uri"),
        ("{" + " " * 20_000, "longer than 20000"),
        ("[" * 10_000, "not JSON"),
    ],
)
def test_it_says_what_else_was_pasted(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("private_key", "", "private_key"),
        ("private_key", 5, "private_key"),
        ("private_key", "garbage", "No private key"),
        ("token_uri", "https://attacker.example/token", "not Google's"),
        ("token_uri", "http://169.254.169.254/", "not Google's"),
        ("universe_domain", "example.com", "not Google's"),
        ("client_email", "somebody@example.com", "no address"),
        ("client_email", f"{EMAIL} --role=roles/owner", "no address"),
        ("client_email", f"$(id)@{EMAIL}", "no address"),
    ],
)
def test_a_key_with_a_wrong_field_is_refused(key: dict[str, Any], field: str, value: Any, words: str) -> None:
    assert words in refusal(json.dumps(key | {field: value}))


def test_a_key_that_google_never_makes_is_refused(key: dict[str, Any]) -> None:
    shape = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(*shape).decode()

    assert "No private key" in refusal(json.dumps(key | {"private_key": curve}))


def test_refusals_never_repeat_the_key(key: dict[str, Any]) -> None:
    assert "PRIVATE" not in refusal(json.dumps(key | {"client_email": "x"}))


def test_a_key_becomes_credentials(key: dict[str, Any]) -> None:
    found = credentials_of(project_with(Secret.of(json.dumps(key))))

    assert isinstance(found, service_account.Credentials)
    assert found.service_account_email == EMAIL


def test_a_key_that_cannot_be_decrypted_is_said(settings: Settings) -> None:
    with pytest.raises(SecretUnreadableError):
        credentials_of(project_with(Secret("no-token")))


def test_workload_identity_asks_the_metadata_server() -> None:
    found = credentials_of(CloudProject(credentials=Credentials.WORKLOAD_IDENTITY))

    assert isinstance(found, compute_engine.Credentials)


def test_application_default_credentials_are_left_to_the_clients() -> None:
    assert credentials_of(CloudProject()) is None


@pytest.mark.parametrize("kind", list(Credentials))
def test_an_emulator_is_asked_without_credentials(kind: Credentials) -> None:
    assert credentials_of(CloudProject(credentials=kind, endpoint="127.0.0.1:1")) is None


def test_the_projects_endpoint_comes_before_the_settings(settings: Settings) -> None:
    settings.GOOGLE_ENDPOINT = "127.0.0.1:2"

    assert endpoint_of(CloudProject(endpoint="127.0.0.1:1")) == "127.0.0.1:1"
    assert endpoint_of(CloudProject()) == "127.0.0.1:2"
