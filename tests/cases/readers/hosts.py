"""The host itself: ssh, limits, cores, launch context."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inventory.errors import HostUnreachable
from inventory.facts.base import NOT_ASKED, is_known
from inventory.facts.context import parse_cgroup
from inventory.facts.control import parse_agent_keys
from inventory.facts.gpu.nvidia import gpu_fact
from inventory.facts.gpu.nvidia_gpu import NvidiaGpu
from inventory.facts.host import GpuProcess, Gpus, HostFacts, Listener, RunningDeployment, Software, System, Way
from inventory.facts.upkeep import parse_session, parse_ssh_server
from inventory.schema import Host
from inventory.sshconfig import SshOptions, effective
from inventory.sshconfig import read as read_options
from inventory.transport.framing import Unframer
from inventory.transport.sshfailure import explain
from inventory.transport.sshwords import failure_kind
from playbooks.checks.ssh_tools import PACKAGES
from tests.cases.reader import Files, Reader

MARKER = re.compile(r"(?m)^@@BEGIN-(\S+)$")
WARNING = re.compile(r"^Warning: Permanently added|cannot change locale")
"""What ssh and shells say on stderr of a login that works."""

LIVE = {"running", "healthy", "starting", "live", "partial"}


def unframed(text: str, marker: str) -> tuple[str, str]:
    """What lies between the markers, and what around them. The case has its own form of the marker lines."""
    begin = re.sub(rf"^@@BEGIN-{re.escape(marker)}$", f"\n{marker} begin", text, count=1, flags=re.MULTILINE)
    framed = re.sub(rf"^@@END-{re.escape(marker)} rc=(\d+)$", rf"\n{marker} end \1", begin, count=1, flags=re.MULTILINE)
    unframer = Unframer(marker)
    unframer.feed(framed.encode())
    return unframer.body.decode(errors="replace"), unframer.noise.decode(errors="replace")


def error(host: str, own: Mapping[str, str]) -> HostUnreachable | None:
    """What ssh's words on its stderr mean; nothing when it said nothing."""
    words = "\n".join(line for line in own.get("stderr.txt", "").splitlines() if not WARNING.search(line))
    return explain(words, host, effective(Host(name=host))) if words.strip() else None


def _noise(files: Files, _: HostFacts) -> Mapping[str, Any]:
    text = files.texts("raw_stdout*", "stdout.txt")[0]
    marker = files.shared.get("marker.txt") or files.own.get("marker.txt") or "".join(MARKER.findall(text)[:1])
    return {"noise": unframed(text, marker.strip())[1]}


def _session(files: Files, _: HostFacts) -> Mapping[str, Any]:
    account, settings = ("\n".join(files.texts(pattern)) for pattern in ("getent_passwd*", "loginctl_*"))
    if account and ":" not in account:  # the shell alone
        account = f"user:x:0:0::/:{account.strip()}"
    return {"session": parse_session(account, settings)}


def _systemd(files: Files, so_far: HostFacts) -> Mapping[str, Any]:
    version = re.match(r"systemd (\S+)", files.texts("systemctl_--version*")[0])
    blank = Software(None, None, None, None, None, None, (), ())
    software = so_far.software if is_known(so_far.software) else blank
    return {"software": replace(software, systemd=version[1] if version else None)}


def _dropped(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """What each login said; only those that the server dropped before they began count."""
    events = "\n".join(own["events.txt"] for own in (files.shared, files.own) if "events.txt" in own)
    dropped = sum(failure_kind(line) == "banner" for line in events.splitlines())
    return {"way": Way("", "", "", None, dropped_logins=dropped)}


def _server(files: Files, so_far: HostFacts) -> Mapping[str, Any]:
    """Of `sshd -T`; who asked came by ssh."""
    way = so_far.way if is_known(so_far.way) else Way(files.host, files.host, "", 22)
    return {"ssh_server": parse_ssh_server(files.texts("sshd_-T*")[0]), "way": way}


def _way(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """What ssh says of the host, or would say with the case's own configuration; the keys of the agent."""
    agent = [parse_agent_keys(text) for name, text in {**files.shared, **files.own}.items() if "ssh-add" in name]
    way = Way(files.host, files.host, "", 22, agent_keys=agent[0] if agent else None)
    if files.texts("ssh_-G*"):
        return {"way": _of_options(read_options(files.host, (), files.texts("ssh_-G*")[0]), way)}
    if "ssh_config" in files.shared and files.host:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config"
            config.write_text(files.shared["ssh_config"], encoding="utf-8")
            return {"way": _of_options(effective(Host(name=files.host, ssh_config=str(config))), way)}
    return {"way": way if agent else NOT_ASKED}


def _of_options(options: SshOptions, way: Way) -> Way:
    return replace(
        way,
        target=options.target,
        hostname=options.hostname,
        user=options.user,
        port=options.port,
        jumps=tuple(f"{hop.user}@{hop.host}:{hop.port or 22}" for hop in options.proxy_jump),
        identities_only=options.identities_only,
        control_path=options.control_path,
    )


def blank_system(files: Files, so_far: HostFacts) -> System:
    if is_known(so_far.system):
        return so_far.system
    return System("", "", "other", "", "", "", files.host, "", 0, can_sudo=False, clock_offset_s=0.0)


def _sudo(files: Files, so_far: HostFacts) -> Mapping[str, Any]:
    """`sudo -n true; echo $?`."""
    text = files.texts("sudo_-n*")[0].strip()
    works = text.splitlines()[-1:] in ([], ["0"]) and "password" not in text
    return {"system": replace(blank_system(files, so_far), can_sudo=works)}


def _tools(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """The paths that `command -v` found."""
    found = {line.rpartition("/")[2] for line in files.texts("command_-v.txt", "tools.txt")[0].split()}
    return {"missing_tools": tuple(name for name in PACKAGES if name not in found)}


def _ranks(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """The control group of each process of a rank: a file of its own."""
    named = {name: parse_cgroup(files.own[name]) for name in files.own if re.search(r"(rank|proc_\d+).*cgroup", name)}
    ranks = (
        RunningDeployment(name.partition("_cgroup")[0], "", at == 0, "running", "systemd", (), ((at, path),))
        for at, (name, path) in enumerate(sorted(named.items()))
        if path
    )
    return {"deployments": tuple(ranks)} if named else {}


def _lock(files: Files, _: HostFacts) -> Mapping[str, Any]:
    """The line in the lock file; empty or absent: nobody."""
    text = files.texts("lock.txt", "*bringup*lock*", "host_lock*")[0].strip()
    return {"lock": "" if "No such file" in text else text, "lock_holder": "elsewhere" if text else ""}


def _deployments(files: Files, so_far: HostFacts) -> Mapping[str, Any]:
    """Records of deployments; one that names GPUs or ports holds them by processes that the case need not show."""
    told = [json.loads(text) for text in files.texts("deployments.json", "state.json")]
    records = [one for part in told for one in (part if isinstance(part, list) else [part])]
    held = [one for one in records if str(one.get("state") or one.get("status")) in LIVE]
    for one in held:
        one.setdefault("pids", [one.get("api_pid") or 1])
    ports = [(port, one["pids"][0]) for one in held for port in one.get("ports") or ()]
    devices = {at: one["pids"][0] for one in held for at in one.get("gpus") or ()}
    found: dict[str, Any] = {}
    if ports and not is_known(so_far.listeners):
        found["listeners"] = tuple(Listener("0.0.0.0", port, f"vllm {pid}") for port, pid in ports)  # noqa: S104
    if devices and not is_known(so_far.gpus):
        blank = (
            replace(gpu_fact(at, NvidiaGpu("", ""), None, None), processes=(GpuProcess(devices[at], "", None),))
            for at in devices
        )
        found["gpus"] = Gpus("nvidia", "", None, tuple(blank), simulated=False)
    return found | {
        "deployments": tuple(
            RunningDeployment(
                name=str(one.get("name") or one.get("deployment") or ""),
                generation="",
                head=True,
                state="running" if str(one.get("state") or one.get("status")) in LIVE else "stopped",
                supervisor="systemd",
                pids=tuple(one.get("pids") or ()),
            )
            for one in records
        )
    }


READERS: tuple[Reader, ...] = (
    Reader(("raw_stdout*", "stdout.txt"), _noise),
    Reader(("stderr.txt",), lambda *_: {}),
    Reader(("loginctl_*", "getent_passwd*"), _session),
    Reader(("systemctl_--version*",), _systemd),
    Reader(("events.txt",), _dropped),
    Reader(("bastion_sshd*",), lambda *_: {}),  # the server's own view of the same
    Reader(("ssh_-G*", "ssh-add_-l*", "ssh_config"), _way),
    Reader(("sshd_-T*",), _server),
    Reader(("sudo_-n*",), _sudo),
    Reader(("command_-v.txt", "tools.txt"), _tools),
    Reader(("ls.txt",), lambda *_: {}),  # beside what decides
    Reader(("*cgroup*.txt",), _ranks),
    Reader(("lock.txt", "*bringup*lock*", "host_lock*"), _lock),
    Reader(("deployments.json", "state.json"), _deployments),
)
