"""Keys by which the processes of a cluster of ours know each other."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed.security import Security

FROM, UNTIL = datetime(2000, 1, 1), datetime(2999, 1, 1)
"""When the certificate is valid. Its key is gone when the cluster ends, so dates protect nothing. One that begins now
would shut out workers whose clock is behind, and all of them once the clock of this machine is set back."""


def temporary_security() -> Security:
    """Keys and a certificate for a cluster, in memory only: like ``Security.temporary``, but for the dates."""
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
