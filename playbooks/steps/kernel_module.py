"""A kernel module: loaded now and at every start with its options, or kept out."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from inventory.quoting import quote
from playbooks.entry import At, Entry, Text, matching, shell
from playbooks.plan import Phase, Refusal, Step
from playbooks.steps.file import write
from playbooks.steps.ownership import Ownership

Module: TypeAlias = Annotated[str, matching(r"[A-Za-z0-9_-]+", "the name of a module")]
OptionName: TypeAlias = Annotated[str, matching(r"[A-Za-z0-9_]+", "the name of a parameter")]
OptionValue: TypeAlias = Annotated[Text, matching(r"[^\s]+", "a value without blanks")]
REFUSALS = (
    Refusal(
        id="module-missing",
        message="the running kernel has no such module",
        required="the module, built for the kernel that runs",
        next_command="ssh HOST 'uname -r; dkms status; ls /lib/modules'",
    ),
    Refusal(
        id="module-in-use",
        message="a kernel module is in use, with other options or against the playbook",
        required="a restart of the host: the files that decide are written",
        next_command="the same command with --reboot",
    ),
)


class KernelModule(Entry):
    """`loaded: false`: blacklisted, and unloaded where nothing uses it. `initramfs`: it is loaded from there.

    `later`: the files alone; what is loaded stays until a restart, which an entry `reboot` has to ask for.
    """

    PHASE: ClassVar[Phase] = Phase.CONFIGURE
    kind: Literal["kernel_module"]
    module: Module
    loaded: bool = True
    options: dict[OptionName, OptionValue] = Field(default_factory=dict)
    initramfs: bool = False
    later: bool = False

    def step(self, at: At) -> Step:
        begin = (
            f"{shell('kernel_module')}\n"
            f"module={quote(self.module)} initramfs={'yes' if self.initramfs else 'no'}\n"
            f"load_file=/etc/modules-load.d/bringup-{quote(self.module)}.conf\n"
            f"options_file=/etc/modprobe.d/bringup-{quote(self.module)}.conf\n"
            f"load_text={quote(self._load())}\noptions_text={quote(self._options())}\n"
        )
        kept = "".join(f"same_option {quote(name)} {quote(value)}\n" for name, value in self.options.items())
        said = f"load {self.module}" if self.loaded else f"keep {self.module} out of the kernel"
        goal = "later" if self.later else "loaded" if self.loaded else "out"
        return self.made(
            at,
            probe=f"{begin}options_apply() {{\n{kept}:\n}}\nmodule_state {goal}",
            wanted=f"{goal}, files as wanted",
            script=begin
            + write(f"/etc/modules-load.d/bringup-{self.module}.conf", self._load(), "0644", Ownership())
            + write(f"/etc/modprobe.d/bringup-{self.module}.conf", self._options(), "0644", Ownership())
            + f"options_apply() {{\n{kept}:\n}}\nmake_so {goal}\n",
            summary=said
            + "".join(f" {name}={value}" for name, value in self.options.items())
            + (" from the next start on" if self.later else ""),
            refusals=REFUSALS,
        )

    def _load(self) -> str:
        return f"{self.module}\n" if self.loaded else ""

    def _options(self) -> str:
        if not self.loaded:
            return f"blacklist {self.module}\ninstall {self.module} /bin/false\n"
        said = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"options {self.module}{said}\n" if said else ""
