"""Kernel parameters: set now and, by a file of bringup's own in /etc/sysctl.d, at every start."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from inventory.quoting import quote
from playbooks.entry import At, Entry, Number, matching
from playbooks.plan import Phase, Refusal, Step
from playbooks.steps.file import file_parts

Key: TypeAlias = Annotated[str, matching(r"[a-z0-9_-]+(\.[A-Za-z0-9_/:-]+)+", "a name such as kernel.numa_balancing")]
Value: TypeAlias = Annotated[Number, matching(r"[^\n]+", "one line")]
REFUSALS = (
    Refusal(
        id="sysctl-missing",
        message="the running kernel has no such parameter",
        required="a kernel that has it, or an entry with `missing: ok`",
        next_command="ssh HOST 'sysctl -a 2>/dev/null | less'",
    ),
)


class Sysctl(Entry):
    """`missing: ok`: a kernel without the parameter does not need it."""

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["sysctl"]
    values: dict[Key, Value]
    missing: Literal["ok", "refuse"] = "refuse"

    def step(self, at: At) -> Step:
        path = f"/etc/sysctl.d/90-bringup-{self.id}.conf"
        text = "".join(f"{'-' if self.missing == 'ok' else ''}{key} = {value}\n" for key, value in self.values.items())
        parts = file_parts(path, f"# {at.name(self.id)} of bringup\n{text}", mode="0644")
        running = "\n".join(f"running {quote(_file(key))} {quote(key)}" for key in self.values)
        wanted = " ".join(f"{key}={' '.join(value.split())}" for key, value in self.values.items())
        return self.made(
            at,
            probe=f"{_running(self.values if self.missing == 'ok' else {})}\n{running}\n{parts['probe']}",
            wanted=f"{wanted} {parts['wanted']}",
            script=parts["script"] + "".join(_set(key, value) for key, value in self.values.items()),
            summary=f"set {wanted}",
            refusals=REFUSALS,
        )


def _file(key: str) -> str:
    """As sysctl has it: a slash in a name stands for the dot of an interface's (net.ipv4.conf.eth0/100.rp_filter)."""
    return "/proc/sys/" + key.translate({ord("."): "/", ord("/"): "."})


def _running(may_be_missing: dict[str, str]) -> str:
    """`running FILE KEY` prints `KEY=VALUE `, blanks made one; where it may be missing, the wanted value then."""
    cases = "".join(
        f"{quote(key)}) printf '%s=%s ' \"$2\" {quote(' '.join(value.split()))} ;; "
        for key, value in may_be_missing.items()
    )
    return f"""running() {{
if [ ! -e "$1" ]; then
  case $2 in {cases}*) printf 'refused sysctl-missing %s' "$2"; exit 0 ;; esac
else
  value=$(tr -s '\\t' ' ' <"$1") || return 1
  printf '%s=%s ' "$2" "$value"
fi
}}"""


def _set(key: str, value: str) -> str:
    path = quote(_file(key))
    return f"if [ -e {path} ]; then printf '%s\\n' {quote(value)} >{path}; fi\n"
