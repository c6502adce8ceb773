"""A check's answer. Unknown blocks like fail; skip always says why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    PASS = "pass"  # noqa: S105  (a verdict, not a password)
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    SKIP = "skip"


GRAVEST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.PASS, Status.SKIP)
BLOCKING = frozenset({Status.FAIL, Status.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says of one host (`host` empty: of the gang or the plan).

    A `fail`, `warn` or `unknown` carries `observed`, `required` and `remedy` (a command to type); a `skip` carries
    the reason in `observed`. `check` is the id, the module's name and the runbook's name.
    """

    check: str
    status: Status
    host: str
    observed: str
    required: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        needs_more = self.status in {Status.FAIL, Status.WARN, Status.UNKNOWN}
        if not self.observed or (needs_more and not (self.required and self.remedy)):
            raise ValueError(f"{self.check}: a finding of status {self.status} lacks a part")

    @property
    def blocks(self) -> bool:
        return self.status in BLOCKING
