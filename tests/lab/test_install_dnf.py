"""The package kind on a lab host of RHEL's family: the real dnf and rpm, with packages that the test builds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BringupError, ChangeFailed, CheckFailed
from inventory.fleet import Fleet
from inventory.load import load
from playbooks.entry import At
from playbooks.plan import Change, Step
from playbooks.repositories.openpgp import read_key
from playbooks.repositories.source import Source
from tests.lab.conftest import MakeLab
from tests.lab.rpms import Rpm, become_rhel, make_rpms, missing_tools
from tests.lab.test_install_kinds import Notes, One
from tests.lab.vendor import Signer, put_folder
from tests.unit.playbooks.books.entries import entry, step

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(240)]

DKMS = ("Requires: dkms = 3.1.1",)
PACKAGES = (
    Rpm("tiny-one", "1:1.0-1"),
    Rpm("tiny-one", "1:1.1-1"),
    Rpm("tiny-two", "3.0~rc1-2.el9"),
    Rpm("tiny-other", "1.0-1", ("Conflicts: tiny-two",)),
    Rpm("tiny-broken", "1.0-1", post='if not posix.stat("/srv/headers") then error("no headers") end'),
    # As AMD's driver and EPEL have it: the one wants exactly its own dkms.
    Rpm("dkms", "3.1.1-1.el9"),
    Rpm("dkms", "3.2.2-1.el9"),
    Rpm("amdgpu-dkms", "1:6.16.6.30200000-2238411.el9", DKMS),
    Rpm("needs-new-dkms", "1.0-1", ("Requires: dkms >= 3.2",)),
    *(
        Rpm("kernel-devel", version, ("Provides: installonlypkg(kernel)",), mark=f"kernel-devel-{version}")
        for version in ("5.14.0-570.el9", "5.14.0-600.el9")
    ),
    Rpm("kernel-devel-matched", "5.14.0-600.el9"),
)


class Family(One):
    """A host of RHEL's family, as it was before each test."""

    def fresh(self) -> None:
        """No package, no lock, no mark: the database is made anew."""
        self.sh(
            "umount /usr/share/made-by-a-test 2>/dev/null; rm -rf /var/lib/rpm /usr/share/made-by-a-test; "
            "mkdir /var/lib/rpm; rpm --initdb; rm -rf /var/lib/bringup/holds /var/lib/bringup/unfinished /srv/headers; "
            ": >/etc/dnf/plugins/versionlock.list; sed -i /excludepkgs/d /etc/dnf/dnf.conf; "
            "rm -f /etc/yum.repos.d/gone.repo /etc/yum.repos.d/bringup-*"
        )

    def version(self, name: str) -> str:
        return self.sh(f"rpm -q --qf '%{{EPOCH}}:%{{VERSION}}-%{{RELEASE}}' {name}").replace("(none):", "")

    def fails(self, *steps: Step) -> ChangeFailed:
        with pytest.raises(ChangeFailed) as caught:
            self.do(*self.plan(*steps))
        return caught.value

    def refuses(self, *steps: Step) -> CheckFailed:
        with pytest.raises(CheckFailed) as caught:
            self.plan(*steps)
        return caught.value


@pytest.fixture(scope="module")
def family(make_lab: MakeLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Family]:
    if missing := missing_tools():
        pytest.skip(f"no real dnf on this machine: apt-get install {' '.join(missing)}")
    lab = make_lab(1)
    become_rhel(lab, "tray1")
    folder = tmp_path_factory.mktemp("made") / "rpms"
    make_rpms(folder, PACKAGES)
    with Fleet(load(lab.inventory).resolve("tray1")) as fleet:
        put_folder(fleet, folder, "/srv/rpms")
        one = Family(lab, fleet)
        one.sh("printf '[tests]\\nname=tests\\nbaseurl=file:///srv/rpms\\ngpgcheck=0\\n' >/etc/yum.repos.d/tests.repo")
        yield one


@pytest.fixture
def host(family: Family) -> Family:
    family.fresh()
    return family


def package(name: str = "tiny-one", version: str | None = "1:1.0-1", **fields: Any) -> Step:  # noqa: ANN401
    return step("package", packages={name: version}, **fields)


def test_versions_are_exact_up_and_down_and_our_own_lock_is_no_hindrance(host: Family) -> None:
    for version in ("1:1.1-1", "1:1.0-1", "1:1.1-1"):
        host.converges(package(version=version, hold=True, downgrade="yes"))
        assert host.version("tiny-one") == version
    host.converges(step("package", packages={"tiny-two": "3.0~rc1-2.el9", "tiny-one": None}, hold=True))
    assert host.sh("cat /etc/dnf/plugins/versionlock.list").split() == [
        "tiny-two-0:3.0~rc1-2.el9.*",
        "tiny-one-1:1.1-1.*",
    ]


def test_a_held_package_is_left_alone_by_updates(host: Family) -> None:
    host.converges(package(hold=True))
    host.sh("dnf -y upgrade")
    assert host.version("tiny-one") == "1:1.0-1"
    host.sh(": >/etc/dnf/plugins/versionlock.list; dnf -y upgrade")
    assert host.version("tiny-one") == "1:1.1-1", "it was the lock that held it"


def test_several_kernels_have_their_headers_beside_each_other(host: Family) -> None:
    running = package("kernel-devel", "5.14.0-570.el9", id="running")
    following = package("kernel-devel", "5.14.0-600.el9", id="next", follows=["running"])
    host.converges(running, following)
    assert len(host.sh("rpm -q kernel-devel").split()) == 2
    host.sh("echo 'kernel-devel-matched-0:5.14.0-600.el9.*' >/etc/dnf/plugins/versionlock.list")
    assert host.plan(running, following) == (), "a lock on a package with a longer name is none on this one"


def test_a_lock_of_somebody_else_is_refused_by_name(host: Family) -> None:
    host.converges(package())
    host.sh("dnf -q versionlock add tiny-one")
    refused = host.refuses(package(version="1:1.1-1"))
    assert (refused.id, "tiny-one 1:1.0-1" in refused.observed) == ("package-held", True)


def test_an_exclusion_of_the_configuration_is_told_as_a_hold(host: Family) -> None:
    host.sh("echo 'excludepkgs=tiny-o*' >>/etc/dnf/dnf.conf")
    failed = host.fails(package())
    assert (failed.id, "tiny-one" in failed.observed) == ("package-held", True)


@pytest.mark.parametrize(
    ("before", "wanted", "name", "words"),
    [
        (None, package(version="9.9-1"), "package-version-missing", "tiny-one-9.9-1"),
        (None, package("tiny-none", None), "package-version-missing", "tiny-none"),
        (package("tiny-two", None), package("tiny-other", "1.0-1"), "package-conflict", "tiny-two"),
        (
            package("needs-new-dkms", None),
            package("amdgpu-dkms", "1:6.16.6.30200000-2238411.el9"),
            "package-conflict",
            "dkms = 3.1.1",
        ),
    ],
)
def test_what_cannot_be_installed_has_a_name(
    host: Family, before: Step | None, wanted: Step, name: str, words: str
) -> None:
    if before:
        host.converges(before)
    failed = host.fails(wanted)
    assert failed.id == name, failed
    assert words in failed.observed, failed.observed


def test_what_has_to_go_goes_only_where_the_entry_allows_it(host: Family) -> None:
    host.converges(package("tiny-two", None))
    failed = host.fails(package("tiny-other", "1.0-1", removes=["something-*"]))
    assert (failed.id, "tiny-two" in failed.observed) == ("package-conflict", True), failed
    host.converges(package("tiny-other", "1.0-1", removes=["tiny-*"]))
    assert "not installed" in host.version("tiny-two")


def test_a_script_that_fails_is_no_success_and_is_done_again(host: Family) -> None:
    """dnf ends with 0 and rpm calls the package installed."""
    wanted = package("tiny-broken", "1.0-1")
    failed = host.fails(wanted)
    assert (failed.id, "no headers" in failed.observed) == ("package-script-failed", True)
    assert host.version("tiny-broken") == "1.0-1"
    assert host.plan(wanted)[0].before == "tiny-broken=unfinished"
    host.sh("touch /srv/headers")
    host.converges(wanted)


def test_a_transaction_that_lost_its_power_is_done_again(host: Family) -> None:
    """The files are there and the database says so; the mark says that nobody saw the end."""
    host.converges(package())
    host.sh("touch /var/lib/bringup/unfinished/tiny-one; rm /usr/share/made-by-a-test/tiny-one")
    host.converges(package())
    assert host.sh("ls /usr/share/made-by-a-test") == "tiny-one\n"


def test_a_damaged_database_is_refused_and_never_read_as_not_installed(host: Family) -> None:
    host.converges(package())
    host.sh("echo damage >/var/lib/rpm/rpmdb.sqlite; rm -f /var/lib/rpm/rpmdb.sqlite-*")
    refused = host.refuses(package())
    assert (refused.id, "sqlite" in refused.observed) == ("package-database-broken", True)


def test_a_package_that_is_there_twice_is_refused(host: Family) -> None:
    host.converges(package(version="1:1.0-1"))
    host.sh("rpm -i --force --justdb /srv/rpms/tiny-one-1.1-1.noarch.rpm")
    refused = host.refuses(package(version="1:1.1-1"))
    assert (refused.id, "tiny-one.noarch" in refused.observed) == ("package-database-broken", True)


LOCKS = {
    "dnf": "import os; open('/var/lib/dnf/rpmdb_lock.pid', 'w').write(str(os.getpid()))",
    "rpm": "import fcntl; f = open('/var/lib/rpm/.rpm.lock', 'a'); fcntl.lockf(f, fcntl.LOCK_EX)",
}


class Freeing(Notes):
    """Lets the holder of a lock go when it was named."""

    def __init__(self, free: Callable[[], object]) -> None:
        super().__init__()
        self._free = free

    def says(self, change: Change, line: str) -> None:
        super().says(change, line)
        if line.startswith("waiting for "):
            self._free()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_waited_for_and_its_holder_named(host: Family, lock: str) -> None:
    changes = host.plan(package())
    hold = f"{LOCKS[lock]}\nimport os, time\nend = time.time() + 90\n"
    hold += "while time.time() < end and not os.path.exists('/srv/free'): time.sleep(0.2)\n"
    host.sh(f"rm -f /srv/free; setsid python3 -c {shlex.quote(hold)} >/dev/null 2>&1 </dev/null & sleep 1")
    host.notes = Freeing(lambda: host.sh("touch /srv/free"))
    host.do(*changes)
    said = host.notes.lines
    host.notes = Notes()
    assert any(line.startswith("waiting for python3 (pid ") for line in said), said


def test_a_full_disk_is_told_and_the_same_plan_converges_later(host: Family) -> None:
    folder = "/usr/share/made-by-a-test"
    host.sh(f"mkdir -p {folder}; mount -t tmpfs -o size=4k none {folder}; head -c 4096 /dev/zero >{folder}/full")
    failed = host.fails(package())
    assert (failed.id, folder in failed.observed) == ("package-no-space", True)
    host.sh(f"umount {folder}")
    host.converges(package())


def test_a_repository_that_does_not_answer_is_told(host: Family) -> None:
    gone = "[gone]\\nname=gone\\nbaseurl=http://127.0.0.1:9/x\\ngpgcheck=0\\nretries=0\\n"
    host.sh(f"printf '{gone}' >/etc/yum.repos.d/gone.repo")
    failed = host.fails(package())
    assert (failed.id, "gone" in failed.observed) == ("repository-unreachable", True)


def test_packages_that_nobody_signed_are_refused_where_signatures_are_asked_for(host: Family) -> None:
    host.sh("sed -i s/gpgcheck=0/gpgcheck=1/ /etc/yum.repos.d/tests.repo")
    failed: BringupError = host.fails(package())
    host.sh("sed -i s/gpgcheck=1/gpgcheck=0/ /etc/yum.repos.d/tests.repo")
    assert failed.id == "package-signature", failed


SIGNED = (Rpm("signed", "1.0-1"), Rpm("signed", "1.1-1"))


@pytest.fixture(scope="module")
def key(family: Family, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of two folders of the host, /srv/signed and /srv/forged: the second is the first, signed by somebody else."""
    folder = tmp_path_factory.mktemp("signed")
    for name in ("forged", "signed"):
        make_rpms(folder / name, SIGNED)
        signer = Signer(folder / f"gnupg-{name}")
        signer.sign_rpms(folder / name)
        signer.close()
        put_folder(family.fleet, folder / name, f"/srv/{name}")
    return signer.key


def repository(key: bytes, place: str = "/srv/signed", **fields: Any) -> Step:  # noqa: ANN401
    (fingerprint,) = read_key(key).fingerprints
    source = Source("amdgpu", f"file://{place}", None, fingerprint, read_key(key).armored)
    at = At(playbook="book", state_dir="/var/lib/bringup", sources={"amdgpu": source})
    return entry("repository", id="source", mirror="amdgpu", manager="dnf", **fields).step(at)


def test_packages_come_from_a_repository_whose_key_is_pinned(host: Family, key: bytes) -> None:
    host.converges(repository(key, priority=50), package("signed", "1.0-1", id="signed"))
    said = host.sh("cat /etc/yum.repos.d/bringup-amdgpu.repo").splitlines()
    assert {"gpgcheck=1", "priority=50", "baseurl=file:///srv/signed/"} <= set(said)
    assert host.sh("rpm -qa gpg-pubkey").startswith("gpg-pubkey-"), "dnf took the key up"
    host.sh("echo gpgcheck=0 >>/etc/yum.repos.d/bringup-amdgpu.repo")
    assert host.plan(repository(key, priority=50)), "what somebody changed is seen"


def test_packages_of_another_signer_are_refused(host: Family, key: bytes) -> None:
    host.converges(repository(key, "/srv/forged"))
    failed = host.fails(package("signed", "1.0-1"))
    assert failed.id == "package-signature", failed
    assert "not installed" in host.version("signed")


def test_a_repository_that_does_not_answer_is_not_put_in_its_place(host: Family, key: bytes) -> None:
    host.sh("rm -f /etc/yum.repos.d/bringup-amdgpu.repo")
    failed = host.fails(repository(key, "/srv/nothing"))
    assert failed.id == "repository-unreachable", failed
    assert host.sh("ls /etc/yum.repos.d").split() == ["tests.repo"], "updates of the host go on as before"


def test_a_repository_that_is_there_already_is_refused_by_its_file(host: Family, key: bytes) -> None:
    host.sh("printf '[vendor]\\nname=v\\nbaseurl=file:///srv/signed\\n' >/etc/yum.repos.d/vendor.repo")
    refused = host.refuses(repository(key))
    host.sh("rm /etc/yum.repos.d/vendor.repo")
    assert (refused.id, "vendor.repo" in refused.observed) == ("repository-twice", True)


def test_without_the_plugin_nothing_is_installed_that_should_be_held(host: Family) -> None:
    host.sh("sed -i 's/enabled = 1/enabled = 0/' /etc/dnf/plugins/versionlock.conf")
    failed = host.fails(package(hold=True))
    host.sh("sed -i 's/enabled = 0/enabled = 1/' /etc/dnf/plugins/versionlock.conf")
    assert failed.id == "versionlock-missing"
    assert "not installed" in host.version("tiny-one")


def test_the_machine_itself_was_left_alone() -> None:
    assert not Path("/etc/yum.repos.d/tests.repo").exists()
    assert not Path("/usr/share/made-by-a-test").exists()
