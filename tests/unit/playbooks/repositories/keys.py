"""A public key as far as its fingerprint goes: no signature in it, so only bringup itself would take it for one."""

from __future__ import annotations

from playbooks.repositories.openpgp import armored, read_key

BODY = b"\x04\x63\x00\x00\x00\x16" + bytes(range(60))
KEY = b"\x99" + len(BODY).to_bytes(2, "big") + BODY
OTHER = b"\x99" + len(BODY).to_bytes(2, "big") + BODY[:-1] + b"\x00"
TEXT = armored(KEY)
FINGERPRINT = read_key(KEY).fingerprints[0]
