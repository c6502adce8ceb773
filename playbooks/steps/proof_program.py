"""Import an environment as ranks do, and say as JSON what is in it: `python - CAPABILITY...`; runs on hosts.

Capabilities are those of the host's GPUs: 9.0, 10.3, gfx942. Ends with 1, and `unproved WHY` as the last line, where
torch has no kernels for one of them, or no GPU runtime at all.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import sys
from typing import Any

KERNELS = ("flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache")


def runs_on(entry: str, capability: str) -> bool:
    """Whether torch's code for `entry` (sm_90, sm_90a, sm_100f, compute_120, gfx942) runs on a GPU.

    Plain code runs on later minor versions of its major one, `f` code in its family, `a` code on its own alone;
    `compute_` is compiled by the driver for whatever is newer.
    """
    built, device = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", entry), re.fullmatch(r"(\d+)\.(\d)", capability)
    if built is None or device is None:
        return entry.partition(":")[0] == capability.partition(":")[0]
    own, wanted = (int(built[2]), int(built[3])), (int(device[1]), int(device[2]))
    if built[4] == "a":
        return own == wanted
    if built[1] == "compute" and not built[4]:
        return own <= wanted
    return own[0] == wanted[0] and own[1] <= wanted[1]


def version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def nccl(torch: Any) -> dict[str, str | None] | None:  # noqa: ANN401  (a module)
    """The library that ranks will load from this environment: its version, and the sum that tells builds apart."""
    site = pathlib.Path(torch.__file__).parents[1]
    found = [*site.glob("nvidia/*/lib/libnccl.so.2"), *site.glob("torch/lib/librccl.so*")]
    if not found:
        return None
    names = sorted(one.metadata["Name"] for one in importlib.metadata.distributions())
    told = [version(name) for name in names if name.startswith("nvidia-nccl-cu")]
    with found[0].open("rb") as library:
        digest = (
            hashlib.file_digest(library, "sha256") if sys.version_info >= (3, 11) else hashlib.sha256(library.read())
        )
    return {"file": str(found[0]), "version": told[0] if told else None, "sha256": digest.hexdigest()}


def imported() -> dict[str, Any]:
    """Everything that a rank's first second needs."""
    torch, vllm = importlib.import_module("torch"), importlib.import_module("vllm")
    runtime = torch.version.cuda or getattr(torch.version, "hip", None)
    if runtime:
        for name in ("vllm._C", "vllm._C_stable_libtorch"):
            if importlib.util.find_spec(name):
                importlib.import_module(name)
    else:
        importlib.import_module("vllm.platforms").current_platform.import_kernels()
    # torch.cuda.get_arch_list() without the driver.
    flags = getattr(torch._C, "_cuda_getArchFlags", lambda: None)() or ""  # noqa: SLF001
    return {
        "vllm": vllm.__version__,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "architectures": flags.split(),
        "nccl": nccl(torch),
        "kernels": {name: version(name) for name in KERNELS},
    }


def unfit(told: dict[str, Any], capabilities: list[str]) -> str:
    """Why the GPUs cannot be used with it; empty: they can."""
    if capabilities and not (told["cuda"] or told["hip"]):
        return f"torch {told['torch']} has no GPU runtime"
    built = list(told["architectures"])
    missing = [one for one in capabilities if built and not any(runs_on(entry, one) for entry in built)]
    return (
        f"torch {told['torch']} has kernels for {' '.join(built)}, and none for {', '.join(missing)}" if missing else ""
    )


def main() -> int:
    capabilities = sys.argv[1:]
    told = imported()
    if why := unfit(told, capabilities):
        sys.stdout.write(f"unproved {why}\n")
        return 1
    sys.stdout.write(json.dumps({"gpus": capabilities, **told}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
