from __future__ import annotations

import pytest

from inventory.facts import upkeep
from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import Busy, Load, Session, SshServer, Toolchain, Updates
from tests.answered import Said, answers, facts

APT_FILES = """\
APT::Periodic::Update-Package-Lists "1";
APT::Periodic::Unattended-Upgrade "1";
Unattended-Upgrade::Package-Blacklist {
    "nvidia-";
//  "linux-image";
    "libnvidia-"; // the driver's libraries
};
"""
APT_DUMP = """\
APT::Periodic::Unattended-Upgrade "1";
Unattended-Upgrade::Package-Blacklist "";
Unattended-Upgrade::Package-Blacklist:: "nvidia-";
Unattended-Upgrade::Package-Blacklist:: "libnvidia-";
"""
DPKG_LOG = """\
2026-11-01 06:10:00 upgrade libnvidia-compute-580:arm64 580.82.07-0ubuntu1 580.95.05-0ubuntu1
2026-11-20 06:12:01 upgrade libnvidia-compute-580:arm64 580.95.05-0ubuntu1 580.105.08-0ubuntu1
2026-11-20 06:12:09 install linux-image-6.8.0-90-generic:arm64 <none> 6.8.0-90.91
"""
HISTORY = """\
Start-Date: 2026-11-20  06:12:00
Commandline: /usr/bin/unattended-upgrade
Upgrade: curl:arm64 (8.5.0, 8.5.1), libnvidia-common-580:arm64 (580.95.05, 580.105.08)
End-Date: 2026-11-20  06:12:30
"""


def test_a_login() -> None:
    line = "ops:x:1000:1000:Operator,,,:/home/ops:/usr/bin/fish\n"
    assert upkeep.parse_session(line, "Linger=yes\nKillUserProcesses=no\n") == Session("/usr/bin/fish", True, False)  # noqa: FBT003
    assert upkeep.parse_session("", "Linger=maybe\n") == Session()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("maxstartups 10:30:100\nmaxsessions 10\n", SshServer(10, 30, 100, 10)),
        ("Port 22\nMaxStartups 4:50:8\nMaxSessions 2\n", SshServer(4, 50, 8, 2)),
    ],
)
def test_an_ssh_server(text: str, found: SshServer) -> None:
    assert upkeep.parse_ssh_server(text) == found


def test_an_ssh_server_that_tells_half() -> None:
    found = upkeep.parse_ssh_server("maxstartups 10:30:100\n")
    assert isinstance(found, Unknown)
    refused = facts({"sshd.limits": (1, "sudo: a password is required")}).ssh_server
    assert isinstance(refused, Unknown)
    assert refused.why is Why.REFUSED


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("glibc 2.36\n", "2.36"),
        ("ldd (Ubuntu GLIBC 2.39-0ubuntu8.6) 2.39\nCopyright (C) 2024\n", "2.39"),
        ("ldd (Debian GLIBC 2.36-9+deb12u10) 2.36\n", "2.36"),
        ("ldd (GNU libc) 2.28\n", "2.28"),
        ("ldd (GNU libc) 2.17\nCopyright (C) 2012 Free Software Foundation, Inc.\n", "2.17"),
    ],
)
def test_glibc(text: str, version: str) -> None:
    assert upkeep.parse_glibc(text) == version


@pytest.mark.parametrize("text", ["musl libc (x86_64)\nVersion 1.2.5\n", "", "ldd: unrecognized option"])
def test_no_glibc(text: str) -> None:
    assert isinstance(upkeep.parse_glibc(text), Unknown)


@pytest.mark.parametrize("text", [APT_FILES, APT_DUMP], ids=["files", "apt-config dump"])
def test_automatic_updates_of_apt(text: str) -> None:
    assert upkeep.parse_automatic(text)
    assert upkeep.parse_excluded(text) == ("nvidia-", "libnvidia-")


def test_the_last_setting_of_apt_counts() -> None:
    assert not upkeep.parse_automatic(APT_FILES + 'APT::Periodic::Unattended-Upgrade "0";\n')
    assert not upkeep.parse_automatic("timer apt-daily-upgrade.timer\n"), "the timer alone upgrades nothing"
    assert upkeep.parse_automatic("timer dnf-automatic-install.timer\n")


def test_what_was_upgraded_since_boot() -> None:
    assert upkeep.parse_upgraded(DPKG_LOG, "2026-11-10 08:00:00\n") == (
        "libnvidia-compute-580 580.105.08-0ubuntu1",
        "linux-image-6.8.0-90-generic 6.8.0-90.91",
    )
    assert upkeep.parse_upgraded(DPKG_LOG, "2026-11-21 08:00:00") == ()
    assert upkeep.parse_upgraded(HISTORY, "2026-11-10 08:00:00") == ("libnvidia-common-580 580.105.08",)
    assert upkeep.parse_upgraded(HISTORY, "2026-11-20 07:00:00") == ()


def updates(**items: Said) -> Updates:
    given = {"upkeep.automatic": APT_DUMP, **{f"upkeep.{name}": said for name, said in items.items()}}
    found = upkeep.read_updates(answers(given))
    assert is_known(found)
    return found


def test_updates() -> None:
    found = updates(
        held="nvidia-driver-580\thold\ncurl\tinstall\nlinux-image-generic:arm64 hold\n",
        reboot="required\nlinux-image-6.8.0-90-generic\nlinux-base\n",
        kernels="6.8.0-64-generic\n6.8.0-90-generic\n",
        booted="2026-11-10 08:00:00\n",
        upgraded=DPKG_LOG,
    )
    assert found.automatic
    assert found.held == ("nvidia-driver-580", "linux-image-generic")
    assert (found.wants_reboot, found.reboot_packages) == (True, ("linux-image-6.8.0-90-generic", "linux-base"))
    assert found.kernels == ("6.8.0-64-generic", "6.8.0-90-generic")
    assert found.upgraded_since_boot is not None
    assert len(found.upgraded_since_boot) == 2


def test_what_dnf_leaves_out_and_holds() -> None:
    """Of the configuration and of the versionlock, as the gathering script prints them."""
    said = (
        "timer dnf-automatic-install.timer\n"
        "excludepkgs = kernel*, nvidia*\n"
        " exclude=amdgpu-dkms*\n"
        "locked amdgpu-dkms\nlocked kernel-devel\n"
    )
    found = upkeep.read_updates(answers({"upkeep.automatic": said, "upkeep.held": (127, "dpkg: not found")}))
    assert not isinstance(found, Unknown)
    assert found.automatic is True
    assert found.excluded == ("kernel*", "nvidia*", "amdgpu-dkms*")
    assert found.held == ("amdgpu-dkms", "kernel-devel")


def test_a_host_without_apt_and_uptime_tells_less() -> None:
    found = upkeep.read_updates(answers({"upkeep.automatic": (1, "sh: apt-config: not found"), "upkeep.reboot": ""}))
    assert found == Updates(automatic=None, wants_reboot=False)


def test_a_compiler() -> None:
    items: dict[str, Said] = {
        "toolchain.cc": "cc (Ubuntu 13.3.0) 13.3.0\nCopyright\n",
        "toolchain.compiled": "",
        "toolchain.python-headers": "/var/lib/bringup/envs/d1 yes\n/var/lib/bringup/envs/d2 no\n",
    }
    headers = (("/var/lib/bringup/envs/d1", True), ("/var/lib/bringup/envs/d2", False))
    assert upkeep.read_toolchain(answers(items)) == Toolchain("cc (Ubuntu 13.3.0) 13.3.0", "", headers)
    broken = {**items, "toolchain.compiled": (1, ".probe.c:1:10: fatal error: stddef.h: No such file or directory")}
    found = upkeep.read_toolchain(answers(broken))
    assert is_known(found)
    assert "stddef.h" in found.fault


def test_load() -> None:
    assert upkeep.parse_load("61.10 33.05 24.81 3/900 1234\n", " 231 37.5 python\n  99  0.0 a b\nbad\n") == Load(
        (61.1, 33.05, 24.81), (Busy(231, 37.5, "python"), Busy(99, 0.0, "a b"))
    )
    assert isinstance(upkeep.parse_load("busy"), Unknown)


def test_processes_that_were_killed_for_memory() -> None:
    log = "[ 1000.5] Out of memory: Killed process 41 (vllm) total-vm\n[90000.0] Killed process 42 (ray::W) x\nother\n"
    assert upkeep.parse_oom_kills(log, "90900.0 1.0") == ("ray::W (pid 42), 0.2 h ago",)
    journal = "Nov 29 06:12:01 tray1 kernel: Memory cgroup out of memory: Killed process 43 (python3) total-vm:1kB\n"
    assert upkeep.parse_oom_kills(journal) == ("python3 (pid 43) at Nov 29 06:12:01",)


def test_a_lock_that_is_not_there_is_an_answer() -> None:
    absent = (1, "cat: /var/lib/bringup/lock/owner: No such file or directory")
    assert upkeep.read_lock(answers({"host.lock": absent})) == ""
    refused = upkeep.read_lock(answers({"host.lock": (1, "cat: /x/lock/owner: Permission denied")}))
    assert isinstance(refused, Unknown)


def test_a_clock_that_nobody_tells_is_unknown() -> None:
    assert upkeep.read_synchronised(answers({"sessions.synchronised": "NTPSynchronized=yes\n"})) is True
    assert isinstance(
        upkeep.read_synchronised(answers({"sessions.synchronised": (1, "Failed to connect to bus")})), Unknown
    )


def test_sections_that_came_late_are_told() -> None:
    found = facts({"nvidia.xml": "", "host.load": "0.1 0.1 0.1 1/2 3\n"}, ends={"nvidia": 124, "docker": 137})
    assert found.late_sections == (
        "docker: no answer before its deadline",
        "nvidia: no answer before its deadline",
    )
    assert found.read_at == 1800000001.0


def test_a_victim_is_told_once_by_whichever_line_names_it() -> None:
    log = (
        "[100.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/x,task=VLLM::Worker,pid=812,uid=0\n"
        "[100.1] Memory cgroup out of memory: Killed process 812 (VLLM::Worker) total-vm:1kB\n"
    )
    assert upkeep.parse_oom_kills(log, "3700.0 1") == ("VLLM::Worker (pid 812), 1.0 h ago",)
    assert upkeep.parse_oom_kills(log.partition("\n")[0]) == ("VLLM::Worker (pid 812)",)
