"""Limits of processes that a login starts (pam_limits). A unit of systemd has its own, in the unit."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from playbooks.entry import At, Entry, matching
from playbooks.plan import FileContent, Phase, Step
from playbooks.steps.file import file_parts

Item: TypeAlias = Literal["memlock", "nofile", "nproc", "core", "stack", "rtprio"]
Amount: TypeAlias = Literal["unlimited"] | int
Domain: TypeAlias = Annotated[str, matching(r"\*|@?[A-Za-z0-9_][A-Za-z0-9_.-]*", "*, an account, or @group")]


class Limits(Entry):
    """Soft and hard. `*` never means root, so root stands beside it by default."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["limits"]
    domains: tuple[Domain, ...] = ("*", "root")
    limits: dict[Item, Amount]

    def step(self, at: At) -> Step:
        path = f"/etc/security/limits.d/90-bringup-{self.id}.conf"
        lines = [f"{domain} - {item} {amount}\n" for domain in self.domains for item, amount in self.limits.items()]
        text = f"# {at.name(self.id)} of bringup\n{''.join(lines)}"
        parts = file_parts(path, text, mode="0644", owner="root", group="root")
        said = ", ".join(f"{item} {amount}" for item, amount in self.limits.items())
        parts["summary"] = f"raise limits of new logins: {said}"
        return self.made(at, **parts, content=FileContent(path, text))
