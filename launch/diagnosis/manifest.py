"""manifest.json of a capture: whose texts it has, how their clocks go, and what is missing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

NAME = "manifest.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Kept(_Part):
    """One file, as it was written."""

    bytes: int
    sha256: str


class HostTold(_Part):
    """`ahead_s`: of the control machine's clock; None: not known. `booted_at`: by the host's own clock."""

    ahead_s: float | None = None
    utc_offset_s: float = 0.0
    booted_at: float | None = None
    files: dict[str, Kept] = Field(default_factory=dict)


class Manifest(_Part):
    """`at`: seconds since 1970 on the control machine, when the capture was made. `unanswered`: hosts and why."""

    format_version: Literal[1] = 1
    kind: Literal["capture"] = "capture"
    at: float | None = None
    name: str = ""
    generation: str = ""
    model: str = ""
    hosts: dict[str, HostTold] = Field(default_factory=dict)
    unanswered: dict[str, str] = Field(default_factory=dict)
    not_checked: tuple[str, ...] = ()
    began_at: float | None = None


def read(text: str) -> Manifest | None:
    """The manifest; None where the text is that of something else, or none that can be used."""
    try:
        return Manifest.model_validate_json(text) if '"capture"' in text else None
    except ValidationError:
        return None
