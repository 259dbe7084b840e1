"""Certificates made for one test run: an authority, and what it signs."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate with its key, as PEM text."""

    certificate: str
    key: str

    def files(self, directory: Path, name: str) -> tuple[str, str]:
        """Write both where a server can read them; return the paths."""
        paths = directory / f"{name}.crt", directory / f"{name}.key"
        paths[0].write_text(self.certificate)
        paths[1].write_text(self.key)
        return str(paths[0]), str(paths[1])

    def context(self, directory: Path) -> ssl.SSLContext:
        """Return how a server speaks TLS with this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.files(directory, "double"))
        return context


class Authority:
    """A certificate authority that signs whatever a test needs."""

    def __init__(self, name: str = "Test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign(self._name, self._key.public_key(), [], days=30, is_authority=True)

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, *hosts: str, days: int = 30) -> Pair:
        """Return a certificate for these hosts; with a negative number of days it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        certificate = self._sign(name, key.public_key(), hosts, days)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(), secret.decode())

    def _sign(
        self,
        name: x509.Name,
        public: ec.EllipticCurvePublicKey,
        hosts: tuple[str, ...] | list[str],
        days: int,
        is_authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=60))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if hosts:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())
