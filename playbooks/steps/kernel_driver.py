"""What must be so before packages of a kernel driver are worth installing. It changes nothing: it refuses, or is fit.

A driver that a vendor's installer has put there, a kernel without headers, or a firmware that will not load a module
which nobody has signed: each ends as a host without GPUs, after the restart.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from inventory.quoting import quote, quote_all
from playbooks.entry import At, Entry, FilePath, Text, matching, shell
from playbooks.plan import Phase, Refusal, Step

Release = Annotated[Text, matching(r"[A-Za-z0-9][A-Za-z0-9._+-]*", "a release of the kernel, as `uname -r` prints it")]
REFUSALS = (
    Refusal(
        id="gpu-too-old",
        message="this playbook has no driver for these GPUs",
        required="GPUs that the driver supports",
        next_command="invoke probe --hosts HOST --host-detail  # leave it out, or install an older branch by hand",
    ),
    Refusal(
        id="driver-runfile",
        message="a driver was installed by its vendor's own installer, past the package manager",
        required="a driver of packages alone: both write the same libraries",
        next_command="ssh -t HOST 'sudo nvidia-uninstall'  # or the installer's own way to remove it; then again",
    ),
    Refusal(
        id="secure-boot-key",
        message="the firmware loads signed modules alone, and the key of modules that are built here is not enrolled",
        required="an enrolled key, modules that the distribution has signed, or secure boot off",
        next_command="ssh -t HOST 'sudo mokutil --import KEY'  # docs/runbooks/secure-boot-key.md: by the console",
    ),
    Refusal(
        id="kernel-headers-missing",
        message="a kernel has no headers, and no index of the host has them",
        required="headers of exactly this kernel: without them its module cannot be built",
        next_command="ssh -t HOST 'sudo apt-get update; apt-cache search linux-headers'  # or boot another kernel",
    ),
    Refusal(
        id="kernel-headers-other",
        message="the headers of a kernel are those of another one",
        required="headers of exactly this kernel",
        next_command="ssh HOST 'ls -l /lib/modules/*/build'  # install its own package of headers, remove the link",
    ),
)


class KernelDriver(Entry):
    """`kernels`: for which modules are built here; none: they come built and signed.

    `installers`: files that a vendor's installer leaves; one that a package owns is none of these. `too_old`: why the
    GPUs of the hosts where this counts have no driver here.
    """

    PHASE: ClassVar[Phase] = Phase.PREPARE
    kind: Literal["kernel_driver"]
    kernels: tuple[Release, ...] = ()
    installers: tuple[FilePath, ...] = ()
    too_old: Text = ""

    def step(self, at: At) -> Step:
        kernels = tuple(dict.fromkeys(self.kernels))
        asked = [
            f"refuse gpu-too-old {quote(self.too_old)}\n" if self.too_old else "",
            f"installer {quote_all(self.installers)}\n" if self.installers else "",
            f"signing\nheaders {quote_all(kernels)}\n" if kernels else "",
        ]
        return self.made(
            at,
            probe=f"{shell('kernel_driver')}\n{''.join(asked)}printf fit",
            wanted="fit",
            script="exit 1  # it is fit, or refused\n",
            summary="what a driver of packages needs",
            refusals=REFUSALS,
        )
