"""Certificates and keys made on the spot."""

from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@cache
def made_pair(name: str = "localhost", passphrase: str = "") -> tuple[str, str]:
    """Return a self-signed certificate and its key as PEM texts."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    signed = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    protection = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)
    return signed.public_bytes(Encoding.PEM).decode(), key_pem.decode()
