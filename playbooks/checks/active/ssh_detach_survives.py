"""A process is started as ranks are, every login is closed, and it is looked for from a new one."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Maybe, Unknown, Why
from playbooks.checks import ssh_detach_survives as told
from playbooks.checks.active.base import Said
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = told.ID
PRIORITY = Priority.P0
WHY = told.WHY
DEADLINE_S = 30
RECONNECTS = True
"""All logins end between `listen` and `connect`."""

LIVES_S = 60
SETTLES_S = 2  # that a manager of sessions takes to sweep up behind a login
_REQUIRED = "a process that outlives the login that started it"
_REMEDY = f"{told.REMEDY}; look: loginctl session-status, journalctl -u systemd-logind"
# As supervise.sh starts ranks: in a system unit where we may, else in a session of its own.
_START = f"""
if [ "$(id -u)" = 0 ]; then as_root=; else as_root='sudo -n'; fi
if [ -d /run/systemd/system ] && $as_root true 2>/dev/null; then
    unit=bringup-trial-$$
    $as_root systemd-run --quiet --collect --unit="$unit" -p User="$(id -un)" sleep {LIVES_S} || exit 1
    pid=$(systemctl show "$unit.service" -p MainPID --value)
else
    setsid sleep {LIVES_S} >/dev/null 2>&1 </dev/null &
    pid=$!
fi
sleep 0.2
echo "started $pid $(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20)"
"""
_LOOK = """
now=$(sed 's/.*) //' "/proc/{pid}/stat" 2>/dev/null)
# shellcheck disable=SC2086  # its fields
set -- $now
if [ "${{20:-}}" = {started} ] && [ "$1" != Z ]; then alive=yes; else alive=no; fi
"""


def listen(_host: HostRequirements, _needs: Requirements) -> str | Finding:
    return _START


def connect(host: HostRequirements, _needs: Requirements, listening: Mapping[str, Maybe[Said]]) -> str | Finding:
    process = process_of(listening[host.host])
    if isinstance(process, Unknown):
        return Finding(ID, Status.UNKNOWN, host.host, str(process), _REQUIRED, _REMEDY)
    look = _LOOK.format(pid=process[0], started=process[1])
    groups = f"/proc/{process[0]}/cgroup"
    group = f"cgroup=$(grep -E '^0::|name=systemd' {groups} 2>/dev/null | cut -d : -f 3 | sort | tail -n 1)"
    return f'sleep {SETTLES_S}\n{look}{group}\necho "alive $alive $cgroup"\n'


def hang_up(said: Said) -> str:
    """End it, and nobody who has its number by now."""
    process = process_of(said)
    if isinstance(process, Unknown):
        return ":\n"
    pid, started = process
    look = _LOOK.format(pid=pid, started=started)
    return f'{look}[ "$alive" = no ] || kill {pid} 2>/dev/null || sudo -n kill {pid}\n:\n'


def process_of(said: Maybe[Said]) -> Maybe[tuple[int, int]]:
    """Pid and start time of the process that was started."""
    if isinstance(said, Unknown):
        return said
    words = (said.value("started") or "").split()
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return Unknown(Why.UNREADABLE, said.complaint)
    return int(words[0]), int(words[1])


def judge(
    _listening: Mapping[str, Maybe[Said]], connected: Mapping[str, Maybe[Said]], _needs: Requirements
) -> tuple[Finding, ...]:
    return tuple(_of_host(host, said) for host, said in connected.items())


def _of_host(host: str, said: Maybe[Said]) -> Finding:
    if isinstance(said, Unknown):
        return Finding(ID, Status.UNKNOWN, host, str(said), _REQUIRED, _REMEDY)
    alive, _, cgroup = (said.value("alive") or "").partition(" ")
    if alive == "no":
        observed = "a process that was started as ranks are was gone when its login had ended"
        return Finding(ID, Status.FAIL, host, observed, _REQUIRED, _REMEDY)
    if alive != "yes":
        return Finding(ID, Status.UNKNOWN, host, said.complaint, _REQUIRED, _REMEDY)
    observed = f"a process that was started as ranks are outlived its login, in {cgroup or 'no group that is told'}"
    if told.USER.search(cgroup):
        return Finding(ID, Status.WARN, host, f"{observed}, which belongs to the login", _REQUIRED, _REMEDY)
    return Finding(ID, Status.PASS, host, observed)
