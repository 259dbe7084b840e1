"""Certificates and keys in PEM form, checked before they are stored."""

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

PEM_LIMIT = 200_000


def certificates(pem: str) -> list[x509.Certificate]:
    """Return the certificates in the text. Raise ValidationError where there is none or one is damaged."""
    if len(pem) > PEM_LIMIT:
        raise ValidationError(_("The text is longer than %(limit)d characters.") % {"limit": PEM_LIMIT})
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise ValidationError(
            _("No certificate can be read here; paste the PEM text with its BEGIN and END lines.")
        ) from error


def private_key(pem: str) -> PrivateKeyTypes:
    """Return the key in the text. Raise ValidationError where it is damaged or needs a passphrase."""
    try:
        return load_pem_private_key(pem.encode(), password=None)
    except TypeError as error:
        raise ValidationError(_("The key is protected by a passphrase; give it without one.")) from error
    except Exception as error:
        # cryptography raises ValueError, UnsupportedAlgorithm and others here; all mean the same to a person.
        raise ValidationError(
            _("No private key can be read here; paste the PEM text with its BEGIN and END lines.")
        ) from error


def check_pair(certificate_pem: str, key_pem: str) -> None:
    """Raise ValidationError where the key does not belong to the first certificate."""
    certificate, key = certificates(certificate_pem)[0], private_key(key_pem)
    shape = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if certificate.public_key().public_bytes(*shape) != key.public_key().public_bytes(*shape):
        raise ValidationError(_("The key does not belong to the client certificate."))
