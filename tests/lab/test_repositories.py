"""Signed repositories on a lab host with real apt: reached, trusted by one key alone, refused without a trace else."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import ChangeFailed, CheckFailed
from inventory.fleet import Fleet
from inventory.load import load
from inventory.secret import Secret
from playbooks.entry import At
from playbooks.plan import Step
from playbooks.repositories.source import Login, Source
from tests.lab.conftest import MakeLab
from tests.lab.packages import Package, SigningKey, make_key, make_repository, sign
from tests.lab.test_install_kinds import One
from tests.unit.playbooks.books.entries import AT, entry

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-install"), pytest.mark.timeout(240)]
PORT = 8901
LARGE = (
    *(Package("tiny-first", "1.0-1"), Package("tiny-first", "1.1-1")),
    Package("tiny-large", "1.0-1", ("Depends: tiny-first",), size_kib=2048),
    Package("tiny-newer", "1.0-1", ("Depends: tiny-first (>= 1.1)",)),
)
SERVER = f"""\
import base64, functools, http.server
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        wanted = "Basic " + base64.b64encode(b"me:s3cret").decode()
        if self.path.startswith("/closed/") and self.headers.get("Authorization") != wanted:
            return self.send_error(401)
        super().do_GET()
http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), functools.partial(Handler, directory="/srv")).serve_forever()
"""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    if not (shutil.which("gpg") and shutil.which("dpkg-deb")):
        pytest.skip("no gpg or no dpkg on this machine")
    return make_key(tmp_path_factory.mktemp("keys") / "one")


@pytest.fixture(scope="module")
def host(make_lab: MakeLab, key: SigningKey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[One]:
    lab = make_lab(1)
    folder = tmp_path_factory.mktemp("repository")
    make_repository(folder, [Package("tiny-signed", "1.0-1"), *LARGE])
    sign(folder, key)
    packed = subprocess.run(["tar", "-C", str(folder), "-c", "."], check=True, capture_output=True).stdout
    with Fleet(load(lab.inventory).resolve("tray1")) as fleet:
        one = One(lab, fleet)
        fleet.each(lambda transport: transport.put(packed, "/srv/repository.tar", mode=0o644))
        fleet.each(lambda transport: transport.put(SERVER.encode(), "/srv/server.py", mode=0o644))
        one.sh("rm -rf /etc/apt/sources.list.d/* /var/lib/apt/lists; : >/etc/apt/sources.list")
        one.sh("for d in open closed; do mkdir -p /srv/$d/x; tar -C /srv/$d/x -xf /srv/repository.tar; done")
        one.sh("setsid python3 /srv/server.py >/dev/null 2>&1 </dev/null & sleep 1")
        yield one


def made(key: SigningKey, where: str = "open", **fields: Any) -> Step:  # noqa: ANN401
    source = Source("cuda", f"http://127.0.0.1:{PORT}/{where}", None, key.fingerprint, key.public)
    source = dataclasses.replace(source, **fields)
    one = entry("repository", mirror="cuda", folder="x")
    return one.step(At(playbook="book", state_dir="/var/lib/bringup", sources={"cuda": source}))


def test_a_signed_repository_is_read_and_its_packages_can_be_installed(host: One, key: SigningKey) -> None:
    host.converges(made(key))
    assert host.sh("apt-cache madison tiny-signed").count("1.0-1") == 1
    host.converges(entry("package", packages={"tiny-signed": "1.0-*"}, hold=True).step(AT))
    assert host.sh("dpkg-query -W -f '${Version}' tiny-signed") == "1.0-1"


def test_a_file_that_was_changed_is_put_back_and_a_missing_index_read(host: One, key: SigningKey) -> None:
    host.converges(made(key))
    host.sh("echo '# mine' >>/etc/apt/sources.list.d/bringup-cuda.sources; rm -rf /var/lib/apt/lists")
    (change,) = host.plan(made(key))
    assert change.before.endswith(" not-indexed")
    host.converges(made(key))
    host.sh("chmod 0600 /etc/apt/keyrings/bringup-cuda.asc")
    assert host.plan(made(key)), "apt could not read it"
    host.converges(made(key))


def test_a_password_reaches_the_server_and_is_roots_alone(host: One, key: SigningKey) -> None:
    at = f"http://127.0.0.1:{PORT}/closed"
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(made(key, "closed")))
    assert caught.value.id == "repository-unreachable"
    assert "401" in caught.value.observed
    host.converges(made(key, "closed", login=Login(at, "me", Secret("s3cret"))))
    assert host.sh("stat -c %a /etc/apt/auth.conf.d/bringup-cuda.conf") == "600\n"
    assert "s3cret" not in host.sh("cat /etc/apt/sources.list.d/bringup-cuda.sources")
    host.converges(made(key))
    assert host.sh("ls /etc/apt/auth.conf.d/") == "", "what is not needed any more is gone"


@pytest.mark.parametrize(("where", "name"), [("nowhere", "repository-unreachable"), ("open", "repository-signature")])
def test_what_cannot_be_trusted_or_reached_leaves_apt_as_it_was(
    host: One, key: SigningKey, tmp_path: Path, where: str, name: str
) -> None:
    host.sh("rm -f /etc/apt/sources.list.d/*; rm -rf /var/lib/apt/lists")
    other = make_key(tmp_path / "other") if name == "repository-signature" else key
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(made(other, where)))
    assert caught.value.id == name, caught.value
    assert host.sh("ls /etc/apt/sources.list.d") == ""
    assert host.sh("apt-get update -qq && echo fine") == "fine\n"
    host.converges(made(key))


@pytest.mark.parametrize(
    "line",
    ["deb [trusted=yes] http://127.0.0.1:8901/open/x /", "Types: deb\nURIs: http://127.0.0.1:8901/open/x/\nSuites: /"],
)
def test_the_same_repository_from_another_hand_is_refused_by_its_file(host: One, key: SigningKey, line: str) -> None:
    file = f"/etc/apt/sources.list.d/other.{'list' if line.startswith('deb') else 'sources'}"
    host.sh(f"echo '{line}' >{file}")
    with pytest.raises(CheckFailed) as caught:
        host.plan(made(key))
    assert caught.value.id == "repository-twice"
    assert file in caught.value.observed
    host.sh(f"rm {file}")


def test_a_lock_on_the_indexes_is_waited_for(host: One, key: SigningKey) -> None:
    host.sh("rm -rf /var/lib/apt/lists; mkdir -p /var/lib/apt/lists")
    changes = host.plan(made(key))
    host.sh("setsid sh -c 'exec 9>>/var/lib/apt/lists/lock; exec sleep 6' >/dev/null 2>&1 </dev/null &")
    host.do(*changes)
    assert any(line.startswith("waiting for sleep (pid ") for line in host.notes.lines), host.notes.lines
    assert host.plan(made(key)) == ()


def large() -> Step:
    return entry("package", packages={"tiny-large": "1.0-1"}).step(AT)


def test_downloads_that_do_not_fit_are_refused_before_anything_is_fetched(host: One, key: SigningKey) -> None:
    host.converges(made(key))
    host.sh("mount -t tmpfs -o size=1M none /var/cache/apt/archives")
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(large()))
    assert caught.value.id == "package-no-space"
    assert "/var/cache/apt/archives" in caught.value.observed
    assert host.sh("ls -A /var/cache/apt/archives | grep -c deb") == "0\n"
    host.sh("umount /var/cache/apt/archives")


def test_a_disk_that_fills_in_the_middle_is_a_failure_with_a_name_and_the_same_plan_converges(
    host: One, key: SigningKey
) -> None:
    host.converges(made(key))
    host.sh("mkdir -p /usr/share/made-by-a-test; mount -t tmpfs -o size=1M none /usr/share/made-by-a-test")
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(large()))
    assert caught.value.id == "package-no-space", caught.value
    host.sh("umount /usr/share/made-by-a-test")
    host.converges(large())
    assert host.sh("dpkg --audit") == ""
    assert host.sh("ls /var/lib/bringup/unfinished") == "", "nothing is left to finish"


def test_what_was_cut_off_in_our_own_hands_is_finished_by_the_same_command(host: One, key: SigningKey) -> None:
    host.converges(made(key))
    host.sh(
        "dpkg --purge tiny-large tiny-first; mkdir -p /var/lib/bringup/unfinished; : >/var/lib/bringup/unfinished/apt"
    )
    host.sh("cd /srv/open/x && dpkg --unpack tiny-first_1.0-1.deb")
    assert "tiny-first" in host.sh("dpkg --audit")
    host.converges(large())
    assert host.sh("dpkg --audit; ls /var/lib/bringup/unfinished") == ""


def test_a_hold_of_others_on_what_would_only_be_drawn_along_is_kept(host: One, key: SigningKey) -> None:
    host.converges(made(key), entry("package", id="first", packages={"tiny-first": "1.0-1"}, downgrade="yes").step(AT))
    host.sh("apt-mark hold tiny-first")
    wanted = entry("package", id="newer", packages={"tiny-newer": "1.0-1"}).step(AT)
    with pytest.raises(ChangeFailed) as caught:
        host.do(*host.plan(wanted))
    assert caught.value.id in {"package-held", "package-conflict"}, "apt itself may find no way past the hold"
    assert host.sh("dpkg-query -W -f '${Version}' tiny-first") == "1.0-1"
    host.sh("apt-mark unhold tiny-first")
    host.converges(wanted)
    assert host.sh("dpkg-query -W -f '${Version}' tiny-first") == "1.1-1"


HEADERS = "mkdir -p /lib/modules/6.0-x/build/include/config; cd /lib/modules/6.0-x/build; : >Makefile"
SECURE_BOOT = (
    "mount -t tmpfs none /sys/firmware; mkdir -p /sys/firmware/efi/efivars; cd /sys/firmware/efi/efivars; "
    r"printf '\006\000\000\000\001' >SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
)


@pytest.mark.parametrize(
    ("bad", "name", "words"),
    [
        ("echo x >/usr/bin/nvidia-uninstall", "driver-runfile", "/usr/bin/nvidia-uninstall"),
        (f"{HEADERS}; echo 6.1-y >include/config/kernel.release", "kernel-headers-other", "6.1-y"),
        (":", "kernel-headers-missing", "linux-headers-6.0-x"),
        (f"{HEADERS}; {SECURE_BOOT}", "secure-boot-key", ""),
    ],
)
def test_what_a_driver_cannot_be_installed_over_has_a_name(
    host: One, key: SigningKey, bad: str, name: str, words: str
) -> None:
    host.converges(made(key))
    fields = {"kernels": ["6.0-x"], "installers": ["/usr/bin/nvidia-uninstall", "/usr/bin/env"]}
    wanted = entry("kernel_driver", **fields).step(AT)
    host.sh(bad)
    with pytest.raises(CheckFailed) as caught:
        host.plan(wanted)
    assert caught.value.id == name, caught.value
    assert words in caught.value.observed
    host.sh("rm -rf /usr/bin/nvidia-uninstall /lib/modules/6.0-x; umount /sys/firmware 2>/dev/null")


def test_a_kernel_with_its_headers_is_fit(host: One) -> None:
    host.sh("mkdir -p /lib/modules/6.0-x/build; : >/lib/modules/6.0-x/build/Makefile")
    wanted = entry("kernel_driver", kernels=["6.0-x"], installers=["/usr/bin/env"]).step(
        At(playbook="b", state_dir="/s")
    )
    assert host.plan(wanted) == ()


def test_the_lab_is_the_only_place_that_changed() -> None:
    assert not list(Path("/etc/apt").rglob("bringup-*"))
