"""A repository of tiny RPM packages, made for a test and read by a host's real dnf; and a lab host of RHEL's family."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inventory.lab.state import Lab
from tests.lab.conftest import on

TOOLS = {"rpmbuild": "rpm", "createrepo_c": "createrepo-c", "dnf": "dnf", "gpg": "gpg"}
"""Commands, and the Debian package of each."""

VERSIONLOCK = Path("/etc/dnf/plugins/versionlock.conf")

# What a system of RHEL's family says of itself. Debian's rpm keeps a database in root's home, and its dnf has no
# folder for repositories; programs of Debian's family would be taken for it.
SETUP = """
printf 'ID="rocky"\\nID_LIKE="rhel centos fedora"\\nVERSION_ID="9.6"\\nNAME="Rocky Linux"\\n' >/etc/os-release.new
rm -f /etc/os-release && mv /etc/os-release.new /etc/os-release
rm -f "$(command -v apt-get)" "$(command -v dpkg-query)"
mkdir -p /etc/rpm /etc/yum.repos.d /var/lib/rpm /etc/dnf/vars
printf '%s\\n' '%_dbpath /var/lib/rpm' >/etc/rpm/macros
printf '%s\\n' '[main]' gpgcheck=True best=True skip_if_unavailable=False reposdir=/etc/yum.repos.d >/etc/dnf/dnf.conf
printf 9 >/etc/dnf/vars/releasever
rm -f /etc/dnf/plugins/local.conf
rpm --initdb
"""


@dataclass(frozen=True, slots=True)
class Rpm:
    """`version`: as bringup has it, `epoch:version-release`. `tags`: further lines of the spec (Requires, Conflicts).

    `post`: a script that runs behind the installation, by the interpreter that rpm itself has (Lua), so that no other
    package is needed. `files`: their paths with what they hold. `mark`: name of the file that each has; its own name.
    """

    name: str
    version: str
    tags: tuple[str, ...] = ()
    post: str = ""
    files: tuple[tuple[str, str], ...] = ()
    mark: str = ""


def missing_tools() -> list[str]:
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    return missing if VERSIONLOCK.is_file() else [*missing, "dnf-plugins-core"]


def make_rpms(folder: Path, packages: Sequence[Rpm]) -> None:
    """Build each package into `folder`, with the index that dnf reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, one in enumerate(packages):
        _build(folder, one, folder.with_name(f"{folder.name}-build") / str(index))
    subprocess.run(["createrepo_c", "--quiet", str(folder)], check=True, capture_output=True)


def become_rhel(lab: Lab, host: str) -> None:
    """Make a lab host one of RHEL's family, with an empty database of packages and no repository."""
    done = on(lab, host, SETUP)
    assert done.returncode == 0, done.stderr


def _build(folder: Path, one: Rpm, root: Path) -> None:
    root.mkdir(parents=True)
    for index, (_, content) in enumerate(one.files):
        (root / f"file-{index}").write_text(content)
    (root / "one.spec").write_text(_spec(one, root))
    argv = ["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {root}/top", "--define", f"_rpmdir {folder}"]
    argv += ["--define", "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"]
    done = subprocess.run([*argv, str(root / "one.spec")], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _spec(one: Rpm, root: Path) -> str:
    epoch, _, rest = one.version.rpartition(":")
    version, _, release = rest.rpartition("-")
    install = [f"install -D {root}/file-{index} %{{buildroot}}{path}" for index, (path, _) in enumerate(one.files)]
    mark = f"/usr/share/made-by-a-test/{one.mark or one.name}"
    install += [f"install -d %{{buildroot}}{Path(mark).parent}", f"echo '{one.version}' >%{{buildroot}}{mark}"]
    lines = [
        *(f"Name: {one.name}", f"Version: {version}", f"Release: {release}"),
        *([f"Epoch: {epoch}"] if epoch else []),
        *("Summary: made by a test", "License: none", "BuildArch: noarch", "AutoReqProv: no"),
        *one.tags,
        *("%description", "made by a test"),
        *("%install", *install),
        *((f"%post -p <lua>\n{one.post}",) if one.post else ()),
        *("%files", mark, *(path for path, _ in one.files)),
    ]
    return "\n".join(lines) + "\n"
