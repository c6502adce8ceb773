"""What the control machine itself knows of a host, put into the host's answer: how ssh reaches it, who has its lock.

It is added where the answer is taken, so that a saved answer tells it too.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Way
from inventory.facts.jsontext import Fields, parse_object

if TYPE_CHECKING:
    from inventory.sshconfig import SshOptions
    from inventory.transport.base import Transport

SECTION = "control"
AGENT_S = 5.0


def with_control(answers: Answers, transport: Transport) -> Answers:
    """`answers` with the section `control`; a damaged answer stays as it is."""
    if answers.fault:
        return answers
    items = {"way": json.dumps(_way(transport)), "lock": lock_holder(answers)}
    files = {f"{SECTION}.end": b"0\n", f"{SECTION}.end.err": b""}
    for name, text in items.items():
        files |= {f"{SECTION}.{name}.out": text.encode(), f"{SECTION}.{name}.err": b""}
    statuses = {f"{SECTION}.{name}": 0 for name in items}
    return replace(answers, files={**answers.files, **files}, statuses={**answers.statuses, **statuses})


def _way(transport: Transport) -> dict[str, Any]:
    options: tuple[SshOptions, ...] = getattr(transport, "way", ())
    if not options:
        return {}
    last = options[-1]
    return {
        "target": last.target,
        "hostname": last.hostname,
        "user": last.user,
        "port": last.port,
        "jumps": [f"{one.user}@{one.hostname}:{one.port}" for one in options[:-1]],
        "proxy_command": last.proxy_command or "",
        "identities_only": last.identities_only,
        "agent_keys": agent_keys(last.identity_agent or os.environ.get("SSH_AUTH_SOCK", "")),
        "control_path": last.control_path or "",
        "dropped_logins": getattr(transport, "dropped_logins", 0),
    }


@cache
def agent_keys(socket: str) -> int | None:
    """How many keys the agent at `socket` offers; None: it does not answer. No agent has none."""
    if socket in {"", "none"}:
        return 0
    try:
        done = subprocess.run(
            ["ssh-add", "-l"],
            env={**os.environ, "SSH_AUTH_SOCK": socket},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=AGENT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_agent_keys(done.stdout) if done.returncode in {0, 1} else None


def parse_agent_keys(text: str) -> int:
    """Lines of `ssh-add -l`: one a key, or that there is none."""
    return sum(bool(line.strip()) and line.split()[0].isdecimal() for line in text.splitlines())


def lock_holder(answers: Answers) -> str:
    """`ours`, or `alive` or `gone`: another process of this machine; `elsewhere`; empty: nobody holds the lock."""
    line = answers.files.get("host.lock.out", b"").decode(errors="replace").strip()
    holder = parse_object(line) if line else None
    if holder is None:
        return "elsewhere" if line else ""
    if (holder.text("control"), holder.text("machine_id")) != (os.uname().nodename, _read("/etc/machine-id")):
        return "elsewhere"
    same_boot = holder.text("boot_id") == _read("/proc/sys/kernel/random/boot_id")
    if not (same_boot and _is_alive(holder)):
        return "gone"
    return "ours" if holder.number("pid") == os.getpid() else "alive"


def _is_alive(holder: Fields) -> bool:
    import psutil

    started = holder.members.get("started")
    try:
        created = psutil.Process(holder.number("pid") or -1).create_time()
    except (psutil.Error, ValueError):
        return False
    return isinstance(started, int | float) and abs(created - started) <= 1.0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def read_way(answers: Answers) -> Maybe[Way]:
    text = answers.text(f"{SECTION}.way")
    if isinstance(text, Unknown):
        return text
    told = parse_object(text)
    if told is None:
        return Unknown(Why.UNREADABLE, text[:60])
    if not told.members:
        return Unknown(Why.NOT_ASKED, "this machine itself: no ssh")
    jumps = told.members.get("jumps")
    return Way(
        target=told.text("target"),
        hostname=told.text("hostname"),
        user=told.text("user"),
        port=told.number("port"),
        jumps=tuple(map(str, jumps)) if isinstance(jumps, list) else (),
        proxy_command=told.text("proxy_command") or None,
        identities_only=told.flag("identities_only"),
        agent_keys=told.number("agent_keys"),
        control_path=told.text("control_path") or None,
        dropped_logins=told.number("dropped_logins") or 0,
    )


def read_lock_holder(answers: Answers) -> Maybe[str]:
    item = answers.item(f"{SECTION}.lock")
    return item if isinstance(item, Unknown) else item.text.strip()
