"""What a download tool gave up for, by its own words: the same names on hosts and on the control machine. Pure."""

from __future__ import annotations

import re

# What the hub's client says when it gives up, in the order of what decides. Tried against huggingface_hub 2.4.
SAID = (
    ("disk-full", r"No space left on device|Disk quota exceeded|os error 28"),
    ("clock-wrong", r"certificate is not yet valid|certificate has expired"),  # OpenSSL; below: rustls, for hf-xet
    ("clock-wrong", r"certificate not valid yet|certificate expired|NotValidYet|certificate: Expired|CertExpired"),
    ("hub-certificate", r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate|UnknownIssuer"),
    ("hub-gated", r"403 Forbidden|Access denied|requires approval|GatedRepo|Cannot access gated repo"),
    ("hub-unauthorized", r"401 Unauthorized|401 Client Error|Invalid (user )?(token|credentials)"),
    ("hub-revision-gone", r"Revision not found|RevisionNotFound"),
    ("hub-not-found", r"404 Not Found|404 Client Error|File not found|EntryNotFound|' not found\."),
    ("hub-rate-limited", r"429 Too Many|429 Client Error|[Rr]ate.?limit"),
    ("hub-unavailable", r"\b50[0-9] (Server|Internal|Bad|Service|Gateway)|Server error '5"),
    ("hub-unreachable", r"ConnectError|ConnectTimeout|not known|Connection refused|unreachable|timed out|resolution"),
    ("hub-unreachable", r"nternet connection|peer closed connection|Consistency check failed"),
)
CERTIFICATES = frozenset({"clock-wrong", "hub-certificate"})
NO_USE_AGAIN = CERTIFICATES | {"disk-full", "hub-gated", "hub-unauthorized", "hub-revision-gone", "hub-not-found"}


def named(said: str) -> tuple[str, str]:
    """The id of what a download tool gave up for, and its own line about it."""
    for name, pattern in SAID:
        found = re.search(rf"[^\r\n]*(?:{pattern})[^\r\n]*", said)
        if found:
            return name, found[0].strip()
    lines = [one.strip() for one in said.splitlines() if one.strip()]
    return "fetch-failed", lines[-1] if lines else "the download tool said nothing"
