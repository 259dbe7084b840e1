"""How the servers of a registered cache are reached, with its secrets decrypted or its tokens at hand."""

from collectors.cloud import tokens
from collectors.connections import Access
from collectors.failures import Cause, ReadError
from collectors.steps import Step
from fleet.models import Cache, Login
from fleet.secrets import SecretUnreadableError


def access_of(cache: Cache, tls: bool) -> Access:
    """Return a cache's access. Raise ReadError where its secrets cannot be decrypted."""
    try:
        return Access(
            tls,
            cache.username,
            cache.password.reveal(),
            cache.ca_bundle,
            cache.client_certificate,
            cache.client_key.reveal(),
            cache.tls_check_hostname,
            tokens.source_of(cache) if cache.login == Login.GOOGLE_IAM else None,
        )
    except SecretUnreadableError as error:
        raise ReadError(Step.AUTH, Cause.SECRET_UNREADABLE) from error
