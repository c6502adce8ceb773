"""The kinds that an entry of a playbook can have: modules of `steps`, listed here and nowhere else."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from playbooks.entry import Entry
from playbooks.steps.command import Command
from playbooks.steps.kernel_driver import KernelDriver
from playbooks.steps.kernel_module import KernelModule
from playbooks.steps.limits import Limits
from playbooks.steps.package import Package
from playbooks.steps.paths import Directory, File, Symlink
from playbooks.steps.reboot import Reboot
from playbooks.steps.repository import Repository
from playbooks.steps.sysctl import Sysctl
from playbooks.steps.systemd_unit import SystemdUnit
from playbooks.steps.user import Group, User

KINDS: tuple[type[Entry], ...] = (
    *(Command, Directory, File, Group, KernelDriver, KernelModule, Limits),
    *(Package, Reboot, Repository, Symlink, Sysctl, SystemdUnit, User),
)
AnyEntry: TypeAlias = Annotated[
    Command
    | Directory
    | File
    | Group
    | KernelDriver
    | KernelModule
    | Limits
    | Package
    | Reboot
    | Repository
    | Symlink
    | Sysctl
    | SystemdUnit
    | User,
    Field(discriminator="kind"),
]
