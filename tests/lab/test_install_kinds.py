"""Kinds that change a whole system, on a lab host with its own root: real apt, accounts, limits, kernel parameters."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BringupError, ChangeFailed, CheckFailed
from inventory.fleet import Fleet
from inventory.lab.state import Lab
from inventory.load import load
from playbooks.apply import apply
from playbooks.look import read
from playbooks.phase_script import Event
from playbooks.plan import FORMAT_VERSION, Change, Plan, Step, changes_for
from tests.lab.conftest import MakeLab, on
from tests.lab.packages import Package, make_repository
from tests.unit.playbooks.books.entries import HOSTILE, step

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(240)]
SOURCE = "deb [trusted=yes] file:/srv/packages ./"
PACKAGES = (
    Package("tiny-one", "1.0-1"),
    Package("tiny-one", "1.1-1"),
    Package("tiny-two", "2:3.0~rc1+b2"),
    Package("tiny-other", "1.0", ("Conflicts: tiny-two",)),
    Package("tiny-broken", "1.0", postinst="exit 7"),
)


class Notes:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, change: Change, event: Event) -> None:
        pass

    def says(self, change: Change, line: str) -> None:  # noqa: ARG002  (the protocol's)
        self.lines.append(line)


class One:
    """One host, planned and changed as `install` does, with a login that stays."""

    def __init__(self, lab: Lab, fleet: Fleet) -> None:
        self.lab, self.fleet, self.runs = lab, fleet, 0
        self.notes = Notes()

    def states(self, steps: Sequence[Step]) -> dict[str, str]:
        found = self.fleet.each(lambda transport: read(transport, steps))["tray1"]
        if isinstance(found, BringupError):
            raise found
        return found

    def plan(self, *steps: Step) -> tuple[Change, ...]:
        return changes_for("tray1", steps, self.states(steps))

    def do(self, *changes: Change) -> None:
        self.runs += 1
        plan = Plan(FORMAT_VERSION, "d", "", "x", ("tray1",), (), changes)
        apply(plan, self.fleet, run=f"r{self.runs}", state_dirs=self.fleet.state_dirs, progress=self.notes)

    def converges(self, *steps: Step) -> None:
        self.do(*self.plan(*steps))
        assert self.plan(*steps) == ()

    def sh(self, script: str) -> str:
        return on(self.lab, "tray1", script).stdout


@pytest.fixture(scope="module")
def host(make_lab: MakeLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[One]:
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg on this machine")
    lab = make_lab(1)
    folder = tmp_path_factory.mktemp("packages")
    make_repository(folder, PACKAGES)
    with Fleet(load(lab.inventory).resolve("tray1")) as fleet:
        one = One(lab, fleet)
        put(one, folder)
        # Its own index alone, and indexes that nobody else reads; the machine's own holds and half states stay out.
        one.sh(f"rm -rf /etc/apt/sources.list.d /var/lib/apt/lists; echo '{SOURCE}' >/etc/apt/sources.list")
        yield one


def put(one: One, folder: Path) -> None:
    def send(transport: Any) -> None:  # noqa: ANN401  (a transport)
        transport.run("mkdir -p /srv/packages", timeout=20)
        for path in [*folder.glob("*.deb"), folder / "Packages"]:
            transport.put(path.read_bytes(), f"/srv/packages/{path.name}", mode=0o644)

    one.fleet.each(send)


def package(name: str = "tiny-one", version: str | None = "1.0-1", **fields: Any) -> Step:  # noqa: ANN401
    return step("package", packages={name: version}, **{"downgrade": "yes", **fields})


SYSTEM_KINDS: dict[str, Callable[[], Step]] = {
    "sysctl": lambda: step("sysctl", values={"net.ipv4.ip_local_reserved_ports": "8000,13345-13346"}),
    "sysctl-missing": lambda: step("sysctl", id="none", values={"net.ipv4.no_such": "1"}, missing="ok"),
    "limits": lambda: step("limits", limits={"memlock": "unlimited", "nofile": 1048576}),
    "group": lambda: step("group", name="made", gid=7001),
    "user": lambda: step("user", name="vllm", uid=7002, system=True, home="/srv/v", groups=["daemon"]),
    "user-device": lambda: step("user", id="dev", name="backup", groups_of=["/srv/device"]),
    "kept-out": lambda: step("kernel_module", module="no_such_module", loaded=False),
    "package": package,
    "packages": lambda: step("package", id="two", packages={"tiny-two": "2:3.0~rc1+b2", "tiny-one": None}, hold=True),
}


@pytest.mark.parametrize("make", SYSTEM_KINDS.values(), ids=SYSTEM_KINDS)
def test_a_kind_converges_on_a_real_system_and_its_second_plan_is_empty(host: One, make: Callable[[], Step]) -> None:
    host.sh("mkdir -p /srv; touch /srv/device; chown 0:7003 /srv/device")
    assert make() == make()
    before = host.states([make()])
    assert before == host.states([make()]), "looking changes nothing"
    host.converges(make())


def test_what_was_made_is_really_there(host: One) -> None:
    for make in SYSTEM_KINDS.values():
        if host.plan(make()):
            host.converges(make())
    assert host.sh("cat /proc/sys/net/ipv4/ip_local_reserved_ports") == "8000,13345-13346\n"
    assert "8000,13345-13346" in host.sh("cat /etc/sysctl.d/90-bringup-one.conf")
    assert host.sh("getent passwd vllm").startswith("vllm:x:7002:")
    assert "daemon" in host.sh("id -Gn vllm")
    assert "7003" in host.sh("id -G backup").split()
    assert host.sh("dpkg-query -W -f '${Version}' tiny-two") == "2:3.0~rc1+b2"
    assert host.sh("apt-mark showhold").split() == ["tiny-one", "tiny-two"]
    assert host.sh("cat /etc/modprobe.d/bringup-no_such_module.conf").startswith("blacklist no_such_module\n")
    assert host.sh("su -s /bin/sh vllm -c true; grep -c memlock /etc/security/limits.d/90-bringup-one.conf") == "2\n"


def test_drift_of_the_system_is_refused(host: One) -> None:
    wanted = step("sysctl", id="drift", values={"net.ipv4.ip_default_ttl": "77"})
    changes = host.plan(wanted)
    host.sh("echo 33 >/proc/sys/net/ipv4/ip_default_ttl")
    with pytest.raises(ChangeFailed) as caught:
        host.do(*changes)
    assert caught.value.id == "drift"
    assert host.sh("cat /proc/sys/net/ipv4/ip_default_ttl") == "33\n"


def test_versions_are_exact_up_and_down_and_our_own_hold_is_no_hindrance(host: One) -> None:
    for version in ("1.1-1", "1.0-1", "1.1-1"):
        host.converges(package(version=version, hold=True))
        assert host.sh("dpkg-query -W -f '${Version}' tiny-one") == version


def test_a_newer_version_is_replaced_only_where_that_was_asked_for(host: One) -> None:
    host.converges(package(version="1.1-1"))
    with pytest.raises(CheckFailed) as caught:
        host.plan(package(version="1.0-1", downgrade="no"))
    assert caught.value.id == "package-downgrade"
    assert "1.1-1, planned is 1.0-1" in caught.value.observed
    assert host.plan(package(version="1.1-*")) == (), "the beginning of a version"
    with pytest.raises(CheckFailed):
        host.plan(package(version="1.0-*", downgrade="no"))
    host.converges(package(version="1.0-*"))
    assert host.sh("dpkg-query -W -f '${Version}' tiny-one") == "1.0-1"
    host.converges(package(version="1.*"))


def test_a_hold_of_somebody_else_is_refused_by_name(host: One) -> None:
    host.converges(package(version="1.1-1", hold=True))
    host.sh("rm -f /var/lib/bringup/holds/tiny-one")
    with pytest.raises(CheckFailed) as caught:
        host.plan(package(version="1.0-1", hold=True))
    assert caught.value.id == "package-held"
    assert "tiny-one 1.1-1" in caught.value.observed
    host.sh("apt-mark unhold tiny-one")


@pytest.mark.parametrize(
    ("wanted", "name", "words"),
    [
        (package(version="9.9"), "package-version-missing", "1.1-1"),
        (package("tiny-none", None), "package-version-missing", "tiny-none"),
        (package("tiny-other", "1.0"), "package-conflict", ""),
    ],
)
def test_what_cannot_be_installed_has_a_name(host: One, wanted: Step, name: str, words: str) -> None:
    if name == "package-conflict":
        host.converges(step("package", packages={"tiny-two": None}))
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(wanted))
    assert caught.value.id == name, caught.value
    assert words in caught.value.observed


def test_half_configured_packages_are_refused_until_they_are_whole(host: One) -> None:
    with pytest.raises(ChangeFailed):
        host.do(*host.plan(package("tiny-broken", "1.0")))
    with pytest.raises(CheckFailed) as caught:
        host.plan(package(version="9.9"))
    assert caught.value.id == "package-manager-broken"
    assert "tiny-broken" in caught.value.observed
    host.sh("dpkg --remove --force-all tiny-broken")
    assert host.plan(package("tiny-broken", "1.0"))


def test_a_held_lock_is_waited_for_and_its_holder_named(host: One) -> None:
    host.sh("apt-mark unhold tiny-one")
    changes = host.plan(package(version="1.0-1" if "1.1" in host.sh("dpkg -s tiny-one") else "1.1-1"))
    host.sh("setsid sh -c 'exec 9>>/var/lib/dpkg/lock-frontend; exec sleep 9' >/dev/null 2>&1 </dev/null &")
    host.do(*changes)
    assert any(line.startswith("waiting for sleep (pid ") for line in host.notes.lines), host.notes.lines
    assert host.plan(*[package(version=changes[0].after.partition("=")[2])]) == ()


def test_a_lock_that_stays_is_given_up_and_its_holder_left_alive(host: One) -> None:
    other = "1.0-1" if "1.1" in host.sh("dpkg -s tiny-one") else "1.1-1"
    (change,) = host.plan(package(version=other))
    short = Change(
        **{
            **{f: getattr(change, f) for f in change.__slots__},
            "script": change.script.replace("wait_s=600", "wait_s=2"),
        }
    )
    host.sh("setsid sh -c 'exec 9>>/var/lib/dpkg/lock-frontend; exec sleep 30' >/dev/null 2>&1 </dev/null &")
    with pytest.raises(ChangeFailed) as caught:
        host.do(short)
    assert caught.value.id == "package-manager-locked"
    assert "sleep (pid " in caught.value.observed
    pid = caught.value.observed.partition("(pid ")[2].partition(")")[0]
    assert host.sh(f"kill {pid} && echo alive") == "alive\n"


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (step("sysctl", values={"net.ipv4.no_such": "1"}), "sysctl-missing"),
        (step("user", name="someone", uid=0), "account-number-taken"),
        (step("group", name="someone", gid=0), "account-number-taken"),
        (step("user", name="backup", groups_of=["/dev/no such"]), "group-device-missing"),
        (step("kernel_module", module="no_such_module_2"), "module-missing"),
        (step("systemd_unit", unit="a.service", running=True), "no-systemd"),
    ],
)
def test_bad_states_have_names_and_nothing_is_planned_over_them(host: One, wanted: Step, name: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        host.plan(wanted)
    assert caught.value.id == name


def test_odd_values_reach_the_system_whole(host: One) -> None:
    path = f"/srv/odd {HOSTILE}"
    host.converges(
        step("directory", path=path, mode="0700", owner="daemon"),
        step("file", id="two", path=f"{path}/{HOSTILE}", content=HOSTILE, owner="daemon", group="7009"),
        step("symlink", id="three", path=f"{path}/link", target=HOSTILE),
    )
    assert host.sh("ls -d /srv/odd* | head -n 1").startswith("/srv/odd a b'c")
    assert "id" not in host.sh("ls /").split()


def test_a_full_disk_is_a_failure_with_a_name_and_the_same_plan_converges_later(host: One) -> None:
    other = "1.0-1" if "1.1" in host.sh("dpkg -s tiny-one") else "1.1-1"
    wanted = package(version=other)
    host.sh("mkdir -p /srv/small; mount -t tmpfs -o size=4k none /var/cache/apt/archives")
    host.sh("dd if=/dev/zero of=/var/cache/apt/archives/full bs=1k count=64 2>/dev/null")
    changes = host.plan(wanted)
    with suppress(ChangeFailed):  # a repository that is a folder needs no room for downloads
        host.do(*changes)
    host.sh("umount /var/cache/apt/archives")
    if host.plan(wanted):
        host.converges(wanted)
    assert host.sh("dpkg-query -W -f '${Version}' tiny-one") == other


def test_the_machine_itself_was_left_alone() -> None:
    assert not Path("/etc/sysctl.d/90-bringup-one.conf").exists()
    assert not Path("/usr/share/made-by-a-test").exists()
