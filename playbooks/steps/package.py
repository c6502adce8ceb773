"""Packages of the distribution in exact versions, held against upgrades: apt on Debian's family, dnf on RHEL's."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, Text, matching
from playbooks.plan import Phase, Refusal, Step
from playbooks.steps.package_manager import MANAGER_REFUSALS, functions

Name: TypeAlias = Annotated[str, matching(r"[A-Za-z0-9][A-Za-z0-9+._-]*(:[a-z0-9]+)?", "the name of a package")]
Version: TypeAlias = Annotated[
    Text,
    matching(
        r"\*|[A-Za-z0-9][A-Za-z0-9.+~:_^-]*\*?", "a version as the index writes it, or the beginning of one and *"
    ),
]
Pattern: TypeAlias = Annotated[
    Text, matching(r"[A-Za-z0-9][A-Za-z0-9+._-]*\*?", "a name, or the beginning of one and *")
]
YesOrNo: TypeAlias = Annotated[Text, matching("yes|no", '"yes" or "no", in quotes')]
REFUSALS = (
    *MANAGER_REFUSALS,
    Refusal(
        id="package-held",
        message="somebody holds a package in another version",
        required="the planned version, or no hold on it",
        next_command="ssh HOST 'apt-mark showhold || { dnf versionlock list; grep exclude /etc/dnf/dnf.conf; }'",
    ),
    Refusal(
        id="package-version-missing",
        message="no configured repository has this version",
        required="the planned version in an index of the host",
        next_command="ssh HOST 'apt-cache policy | head -40 || dnf repolist'  # or a mirror that still has it",
    ),
    Refusal(
        id="package-downgrade",
        message="a package is there in a newer version than the planned",
        required="the planned version or an older one: replacing a newer one has to be asked for",
        next_command="the same command with the newer version, or with --value downgrade=yes where the playbook has it",
    ),
    Refusal(
        id="package-conflict",
        message="the packages could not be installed without removing others",
        required="no package that has to go",
        next_command="ssh HOST 'apt-get -s install ... || dnf --assumeno install ...'  # the output says which",
    ),
    Refusal(
        id="package-signature",
        message="a package is not signed by a key that the host trusts",
        required="packages signed by the pinned key of their repository",
        next_command="ssh HOST 'rpm -qa gpg-pubkey; grep -r gpg /etc/yum.repos.d'  # and ask who runs the mirror",
    ),
    Refusal(
        id="package-script-failed",
        message="a package is installed and its script failed, which rpm counts as a success",
        required="scripts that end well: a kernel module that is built",
        next_command="ssh HOST 'dkms status; ls -t /var/lib/dkms/*/*/build/make.log | head -1'  # then again",
    ),
    Refusal(
        id="versionlock-missing",
        message="dnf cannot hold a version here",
        required="the versionlock plugin of dnf",
        next_command="ssh -t HOST 'sudo dnf install python3-dnf-plugin-versionlock'",
    ),
)


class Package(Entry):
    """`packages`: name to version, None: any; one that ends in * is any packaging of what stands before it.

    `hold`: upgrades leave them alone. `removes`: others may have to go, or those alone whose names are like these.
    `downgrade`: a newer version may be replaced. `along`: what is there of these goes to its version in the same step.
    """

    PHASE: ClassVar[Phase] = Phase.INSTALL
    kind: Literal["package"]
    packages: Annotated[dict[Name, Version | None], Field(min_length=1)]
    along: dict[Name, Version] = Field(default_factory=dict)
    hold: bool = False
    removes: bool | tuple[Pattern, ...] = False
    downgrade: YesOrNo = "no"
    seconds: Annotated[int, Field(ge=60, le=14400)] = 3600

    def step(self, at: At) -> Step:
        words = [word for name, version in self.packages.items() for word in (name, version or "=any")]
        begin = (
            f"{functions('package', 'package_apt', 'package_dnf')}"
            f"hold={'yes' if self.hold else 'no'} removes={'yes' if self.removes else 'no'} "
            f"removable={quote(' '.join(self._removable()))} downgrade={quote(self.downgrade)}\n"
            f"holds={quote(at.state_dir)}/holds unfinished={quote(at.state_dir)}/unfinished\n"
            f"along={quote(' '.join(f'{name} {version}' for name, version in self.along.items()))}\n"
            f"set -- {quote_all(words)}\n"
        )
        mark = "+held" if self.hold else ""
        said = ", ".join(f"{name} {version}" if version else name for name, version in self.packages.items())
        return self.made(
            at,
            probe=f'{begin}packages_state "$@"',
            wanted=" ".join(f"{name}={version or 'installed'}{mark}" for name, version in self.packages.items()),
            script=f'{begin}install_packages "$@"\n',
            summary=f"install {said}" + (", held" if self.hold else ""),
            deadline_s=float(self.seconds),
            refusals=REFUSALS,
        )

    def _removable(self) -> tuple[str, ...]:
        return self.removes if isinstance(self.removes, tuple) else ("*",) if self.removes else ()
