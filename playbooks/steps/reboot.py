"""A restart of the host that something before it needs. Never part of a script: see `playbooks/reboot.py`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, Text, matching, shell
from playbooks.plan import Action, Phase, Step
from playbooks.steps.kernel_module import Module

NOT_NEEDED = "not needed"
PURPOSES = ("packages", "newest_kernel", "kernel_arguments", "modules", "loaded_as", "not_loaded")
Argument: TypeAlias = Annotated[Text, matching(r"[^\s]+", "one argument of the kernel, without blanks")]


class Reboot(Entry):
    """`packages`: a package asks for one. `newest_kernel`: an older one runs than is installed.

    `kernel_arguments` must stand in /proc/cmdline, `modules` be loaded in these versions, `loaded_as` where they are
    loaded at all, and none of `not_loaded`.
    """

    PHASE: ClassVar[Phase] = Phase.REBOOT
    kind: Literal["reboot"]
    packages: bool = False
    newest_kernel: bool = False
    kernel_arguments: tuple[Argument, ...] = ()
    modules: dict[Module, Text] = Field(default_factory=dict)
    loaded_as: dict[Module, Text] = Field(default_factory=dict)
    not_loaded: tuple[Module, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> Reboot:
        if not any(getattr(self, name) for name in PURPOSES):
            raise ValueError(f"what it is for: {', '.join(PURPOSES)}")
        if self.phase not in {None, Phase.REBOOT}:
            raise ValueError("no other phase than `reboot`")
        return self

    def step(self, at: At) -> Step:
        asked = [
            "wanted_by_packages\n" if self.packages else "",
            "older_kernel_runs\n" if self.newest_kernel else "",
            f"argument_missing {quote_all(self.kernel_arguments)}\n" if self.kernel_arguments else "",
            *(f"module_differs {quote(name)} {quote(version)}\n" for name, version in self.modules.items()),
            *(f"other_is_loaded {quote(name)} {quote(version)}\n" for name, version in self.loaded_as.items()),
            *(f"still_loaded {quote(name)}\n" for name in self.not_loaded),
        ]
        return self.made(
            at,
            probe=f"{shell('reboot')}\nreasons() {{\n{''.join(asked)}:\n}}\nreboot_state",
            wanted=NOT_NEEDED,
            script="exit 1  # bringup restarts a host itself, where it was told to\n",
            summary="restart the host",
            action=Action.REBOOT,
        )
