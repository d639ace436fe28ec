"""Keys and certificates for the processes of a cluster that Isoplan starts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed.security import Security

FROM, UNTIL = datetime(2000, 1, 1), datetime(2999, 1, 1)
"""Validity of the certificate. The key is lost when the cluster ends, so a short validity adds no protection. A start
at the present time would refuse workers whose clocks are behind, and all workers after this clock is set back."""


def temporary_security() -> Security:
    """Return a key and a certificate for a cluster, in memory only, as ``Security.temporary`` but with fixed dates."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "isoplan-internal")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("isoplan-internal")]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(FROM)
        .not_valid_after(UNTIL)
        .sign(key, hashes.SHA256())
    )
    shown = certificate.public_bytes(serialization.Encoding.PEM).decode()
    kept = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    roles = ("client", "scheduler", "worker")
    keys, certificates = {f"tls_{r}_key": kept for r in roles}, {f"tls_{r}_cert": shown for r in roles}
    return Security(require_encryption=True, tls_ca_file=shown, **keys, **certificates)
