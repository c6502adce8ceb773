"""Login, ssh server, updates, compiler and load: what sh/host.sh asks."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import Busy, Load, Session, SshServer, Toolchain, Updates
from inventory.facts.system import word

STARTUPS = re.compile(r"(?mi)^maxstartups (\d{1,6}):(\d{1,3}):(\d{1,6})$")
SESSIONS = re.compile(r"(?mi)^maxsessions (\d{1,6})$")
GLIBC = re.compile(r"(?i)(?:glibc|libc\)|ldd \([^)]*\))\D{0,20}?(\d{1,2}\.\d{1,3})")
PERIODIC = re.compile(r'(?m)^\s*APT::Periodic::Unattended-Upgrade\s+"?(\w+)"?;')
BLACKLIST = re.compile(r"Unattended-Upgrade::Package-Blacklist(?:::[\w-]*)?\s*(\{[^}]*\}|\"[^\"]*\"\s*;)")
QUOTED = re.compile(r'"([^"\n]+)"')
EXCLUDED = re.compile(r"(?m)^ *exclude(?:pkgs)? *=(.*)$")
LOCKED = re.compile(r"(?m)^locked (\S+)$")
TIMER = re.compile(r"(?m)^timer (\S*dnf-automatic\S*)$")
UPGRADED = re.compile(r"(?m)^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:upgrade|install) (\S+?)(?::\w+)? \S+ (\S+)$")
HISTORY = re.compile(r"(?m)^Start-Date: (\d{4}-\d\d-\d\d) +(\d\d:\d\d:\d\d)\n(?:.*\n)*?(?:Upgrade|Install): (.*)$")
PACKAGE = re.compile(r"([a-z0-9][a-z0-9.+-]+)(?::\w+)? \(([^)]*)\)")
WATCHED = re.compile(r"(?:lib)?nvidia|linux-image|amdgpu|cuda-drivers")
KILLED = re.compile(r"Killed process (?P<pid>\d{1,10}) \((?P<name>[^)]{1,64})\)")
VICTIM = re.compile(r"oom-kill:.*\btask=(?P<name>[^,]{1,64}),pid=(?P<pid>\d{1,10})")
BUSY = re.compile(r"(?m)^\s*(\d{1,10})\s+(\d{1,6}(?:\.\d+)?)\s+(.{1,60})$")


def read_session(answers: Answers) -> Maybe[Session]:
    account = answers.text("host.account")
    if isinstance(account, Unknown):
        return account
    return parse_session(account, word(answers, "sessions.user"))


def parse_session(account: str, properties: str = "") -> Session:
    """`account`: the line of passwd. `properties`: `loginctl show-user`, as `Linger=yes` lines."""
    fields = account.strip().split(":")
    told = dict(line.split("=", 1) for line in properties.split() if "=" in line)
    return Session(
        shell=fields[6] if len(fields) == 7 else None,
        linger=yes_no(told.get("Linger")),
        kill_user_processes=yes_no(told.get("KillUserProcesses")),
    )


def yes_no(text: str | None) -> bool | None:
    return {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}.get((text or "").lower())


def read_ssh_server(answers: Answers) -> Maybe[SshServer]:
    text = answers.text("sshd.limits")
    return text if isinstance(text, Unknown) else parse_ssh_server(text)


def parse_ssh_server(text: str) -> Maybe[SshServer]:
    """From `sshd -T`."""
    startups, sessions = STARTUPS.search(text), SESSIONS.search(text)
    if startups is None or sessions is None:
        return Unknown(Why.UNREADABLE, "sshd tells no MaxStartups or no MaxSessions")
    start, rate, full = (int(part) for part in startups.groups())
    return SshServer(start=start, rate=rate, full=full, sessions=int(sessions[1]))


def read_missing_tools(answers: Answers) -> Maybe[tuple[str, ...]]:
    item = answers.item("host.missing")
    return item if isinstance(item, Unknown) else tuple(item.text.split())


def read_glibc(answers: Answers) -> Maybe[str]:
    text = answers.text("host.libc")
    return text if isinstance(text, Unknown) else parse_glibc(text)


def parse_glibc(text: str) -> Maybe[str]:
    """`2.36` of `getconf GNU_LIBC_VERSION` or `ldd --version`; musl is not it."""
    if "musl" in text.lower():
        return Unknown(Why.UNREADABLE, "the C library is musl")
    found = GLIBC.search(text)
    return found[1] if found else Unknown(Why.UNREADABLE, f"no version of glibc in {text.strip()[:60]!r}")


def read_balancing(answers: Answers) -> Maybe[int]:
    text = answers.text("host.balancing")
    return text if isinstance(text, Unknown) else int(text.strip())


def read_machine_digest(answers: Answers) -> Maybe[str]:
    text = answers.text("host.machine")
    return text if isinstance(text, Unknown) else text.strip()


def read_synchronised(answers: Answers) -> Maybe[bool]:
    text = answers.text("sessions.synchronised")
    if isinstance(text, Unknown):
        return text
    found = yes_no(text.strip().removeprefix("NTPSynchronized="))
    return Unknown(Why.UNREADABLE, text.strip()[:60]) if found is None else found


def read_lock(answers: Answers) -> Maybe[str]:
    """The line of who holds the state dir; empty: nobody."""
    item = answers.item("host.lock")
    if isinstance(item, Unknown):
        return item
    if item.status and not item.missing_file:
        return item.reason
    return item.text.strip() if not item.status else ""


def read_updates(answers: Answers) -> Maybe[Updates]:
    item = answers.item("upkeep.automatic")
    if isinstance(item, Unknown):
        return item
    held = re.findall(r"(?m)^(\S+?)(?::\w+)?\s+hold$", word(answers, "upkeep.held"))
    reboot = answers.item("upkeep.reboot")
    wanted = "" if isinstance(reboot, Unknown) else reboot.text
    return Updates(
        automatic=parse_automatic(item.text) if not _no_apt(item) else None,
        excluded=parse_excluded(item.text),
        held=(*held, *LOCKED.findall(item.text)),
        wants_reboot=None if isinstance(reboot, Unknown) else wanted.startswith("required"),
        reboot_packages=tuple(wanted.split()[1:]),
        kernels=tuple(word(answers, "upkeep.kernels").split()),
        upgraded_since_boot=_upgraded(answers),
    )


def _no_apt(item: Item) -> bool:
    return "not found" in item.complaint and "timer " not in item.text


def parse_automatic(text: str) -> bool:
    """From apt's configuration (files, or `apt-config dump`) and the names of dnf's timers."""
    periodic = PERIODIC.findall(text)
    return bool(TIMER.search(text)) or (bool(periodic) and periodic[-1] not in {"0", "false", "no"})


def parse_excluded(text: str) -> tuple[str, ...]:
    """The patterns that unattended-upgrades and dnf leave out; lines of comments do not count."""
    said = re.sub(r"(?m)^\s*//.*$", "", text)
    of_apt = tuple(pattern for block in BLACKLIST.findall(said) for pattern in QUOTED.findall(block))
    of_dnf = (word for line in EXCLUDED.findall(said) for word in re.split(r"[,\s]+", line.strip()) if word)
    return (*of_apt, *of_dnf)


def _upgraded(answers: Answers) -> tuple[str, ...] | None:
    booted = answers.text("upkeep.booted")
    log = answers.item("upkeep.upgraded")
    if isinstance(booted, Unknown) or isinstance(log, Unknown):
        return None
    return parse_upgraded(log.text, booted)


def parse_upgraded(log: str, booted: str) -> tuple[str, ...]:
    """Drivers and kernels that dpkg.log or apt's history.log tells of since `booted` (`uptime -s`, the same clock)."""
    since = re.sub(r"[T ]+", " ", booted.strip())[:19]
    found = {f"{name} {version}": when for when, name, version in UPGRADED.findall(log)}
    for day, time, packages in HISTORY.findall(log):
        found |= {f"{name} {versions.split(', ')[-1]}": f"{day} {time}" for name, versions in PACKAGE.findall(packages)}
    return tuple(text for text, when in found.items() if when > since and WATCHED.match(text))


def read_toolchain(answers: Answers) -> Maybe[Toolchain]:
    asked = answers.item("toolchain.compiled")
    if isinstance(asked, Unknown):
        return asked
    compiler = word(answers, "toolchain.cc").partition("\n")[0]
    headers = (line.rpartition(" ") for line in word(answers, "toolchain.python-headers").splitlines())
    return Toolchain(
        compiler=compiler or None,
        fault=asked.complaint if asked.status else "",
        python_headers=tuple((folder, said == "yes") for folder, _, said in headers),
    )


def read_load(answers: Answers) -> Maybe[Load]:
    text = answers.text("host.load")
    return text if isinstance(text, Unknown) else parse_load(text, word(answers, "host.busiest"))


def parse_load(text: str, busiest: str = "") -> Maybe[Load]:
    """`text`: /proc/loadavg. `busiest`: `ps -eo pid=,pcpu=,comm=`."""
    found = re.match(r"\s*(\d+\.\d+) (\d+\.\d+) (\d+\.\d+)", text)
    if found is None:
        return Unknown(Why.UNREADABLE, f"no load in {text.strip()[:60]!r}")
    one, five, fifteen = (float(part) for part in found.groups())
    processes = tuple(Busy(int(pid), float(part), name.strip()) for pid, part, name in BUSY.findall(busiest))
    return Load((one, five, fifteen), processes)


def read_oom_kills(answers: Answers) -> Maybe[tuple[str, ...]]:
    item = answers.item("kernel_log.ooms")
    if isinstance(item, Unknown):
        return item
    if item.status:
        return item.reason
    uptime = answers.text("kernel_log.uptime")
    return parse_oom_kills(item.text, uptime if is_known(uptime) else "")


def parse_oom_kills(log: str, uptime: str = "") -> tuple[str, ...]:
    """`name (pid), H h ago` of every process that the kernel killed for memory in the last day, the last one last."""
    now = re.match(r"\s*(\d{1,12}(?:\.\d+)?)", uptime)
    found: dict[str, str] = {}
    for line in log.splitlines():
        killed = KILLED.search(line) or VICTIM.search(line)
        when = re.match(r"\[?\s*(\d{1,12}\.\d{1,9})\]", line)
        ago = float(now[1]) - float(when[1]) if now and when else None
        if killed and (ago is None or ago < 86400):
            stamp = re.match(r"([A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)", line)
            time = f", {ago / 3600:.1f} h ago" if ago is not None else f" at {stamp[1]}" if stamp else ""
            found.setdefault(f"{killed['name']} (pid {killed['pid']})", time)
    return tuple(f"{name}{time}" for name, time in found.items())[-20:]
