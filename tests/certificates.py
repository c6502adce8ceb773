"""Certificates that tests make: of servers on loopback, with any time of validity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def made_certificate(path: Path, *, from_days: float, to_days: float, address: str = "127.0.0.1") -> Path:
    """A certificate and its key in one file, signed by itself: valid between these days from now."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    # A store of several is searched by name.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"a hub of a test {path.stem}")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=from_days))
        .not_valid_after(now + timedelta(days=to_days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    return path
