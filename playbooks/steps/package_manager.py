"""What the kinds about packages share: the shell functions, and what a package manager's bad states mean."""

from __future__ import annotations

from playbooks.entry import shell
from playbooks.plan import Refusal

WAIT_S = 600
MANAGER_REFUSALS = (
    Refusal(
        id="package-manager-broken",
        message="an earlier installation of packages was left half done",
        required="packages that are all configured",
        next_command="ssh -t HOST 'sudo dpkg --configure -a && sudo apt-get -f install'",
    ),
    Refusal(
        id="package-manager-locked",
        message="another program has held the package manager for too long",
        required=f"the package manager free within {WAIT_S} s",
        next_command="ssh HOST 'ps -ef | grep -E \"apt|dpkg|dnf|unattended\"'  # wait for it, never kill it",
    ),
    Refusal(
        id="package-database-broken",
        message="rpm's database of packages is damaged, or a transaction was cut off in the middle",
        required="a database that can be read, with every package once",
        next_command="ssh -t HOST 'sudo rpm --rebuilddb; sudo dnf remove --duplicates; sudo dnf check'",
    ),
    Refusal(
        id="package-no-space",
        message="the disk is too full for the packages",
        required="room for them below /usr and /var",
        next_command="ssh HOST 'df -h / /usr /var /boot; sudo apt-get clean || sudo dnf clean packages'",
    ),
    Refusal(
        id="repository-unreachable",
        message="the repository does not answer to the host",
        required="its index, through the inventory's proxy where there is one",
        next_command="invoke probe --hosts HOST; then set mirrors: or proxy: in the inventory",
    ),
    Refusal(
        id="no-package-manager",
        message="this host has neither apt nor dnf",
        required="a system of Debian's or RHEL's family",
        next_command="invoke probe --hosts HOST --host-detail",
    ),
)


def functions(*kinds: str) -> str:
    """The shell functions of `kinds`, behind those that all of them use."""
    return "\n".join((shell("package_manager"), *map(shell, kinds))) + f"\nwait_s={WAIT_S}\n"
