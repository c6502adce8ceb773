"""Whether vLLM and torch can be imported as the ranks will: in their environment, with their variables alone."""

from __future__ import annotations

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote
from playbooks.checks.active.base import Said, python_of
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.import_smoke"
PRIORITY = Priority.P0
WHY = "a library that is missing or of another CUDA ends every rank in its first second"
DEADLINE_S = 180

_PROGRAM = """
import atexit, importlib, importlib.util, shutil, sys
atexit.register(shutil.rmtree, sys.argv[1], True)
import torch
print("cuda", torch.version.cuda, flush=True)
print("hip", getattr(torch.version, "hip", None), flush=True)
import vllm
print("vllm", vllm.__version__, flush=True)
if torch.version.cuda or getattr(torch.version, "hip", None):
    for name in ("vllm._C", "vllm._C_stable_libtorch"):
        if importlib.util.find_spec(name):
            importlib.import_module(name)
            print("extension", name, flush=True)
else:
    from vllm.platforms import current_platform
    current_platform.import_kernels()
    print("extension", "as the platform chooses", flush=True)
"""
# The CPU build has one library for each kind of processor: importing another than vLLM's choice is an illegal
# instruction. Where there are GPUs vLLM only warns of a library that is missing: there we import it ourselves.


def script(host: HostRequirements, _needs: Requirements) -> str | Finding:
    python = python_of(host)
    if python is None:
        return skip(ID, host.host, "the plan runs no Python environment here")
    folder = python.rpartition("/bin/")[0]
    marker = quote(f"{folder}/bringup-env.json")
    env = " ".join(_variable(name, value, dict(host.env).get("HOME", "")) for name, value in host.env)
    return "\n".join(
        [
            f"[ -e {marker} ] || {{ echo absent; exit 0; }}",
            f"if grep -q '\"simulated\": *true' {marker}; then echo simulated; exit 0; fi",
            'scratch=$(mktemp -d "${TMPDIR:-/tmp}/bringup-trial.XXXXXX") || exit 74',
            f'cd / && exec env -i {env} {quote(python)} -B -c {quote(_PROGRAM)} "$scratch" </dev/null\n',
        ]
    )


def _variable(name: str, value: str, home: str) -> str:
    """A word of `env`. Imports make folders below the home of the ranks; a trial makes none, so it has another one."""
    if home and (value == home or value.startswith(f"{home}/")):
        return f'{quote(f"{name}=")}"$scratch"{quote(value.removeprefix(home)) if value != home else ""}'
    return quote(f"{name}={value}")


def judge(said: Maybe[Said], host: HostRequirements, needs: Requirements) -> Finding:
    required = f"vLLM {needs.vllm_version} and torch with the GPU's runtime can be imported"
    remedy = "remove the environment on the host: the same deploy again makes it anew from its lock"
    if isinstance(said, Unknown):
        return Finding(ID, Status.UNKNOWN, host.host, str(said), required, remedy)
    if said.out.strip() in {"absent", "simulated"}:
        why = {"absent": "the environment is not there yet: the plan makes it"}
        return skip(ID, host.host, why.get(said.out.strip(), "the environment is a simulated one"))
    if said.status in {124, 137}:
        observed = f"no end after {DEADLINE_S} s"
        return Finding(ID, Status.UNKNOWN, host.host, observed, required, remedy)
    if said.status or not said.value("vllm"):
        observed = (
            said.complaint if said.err.strip() else f"the imports ended with status {said.status}, without a word"
        )
        return Finding(ID, Status.FAIL, host.host, observed, required, remedy)
    runtimes = [f"{name} {value}" for name in ("cuda", "hip") if (value := said.value(name)) not in {None, "None"}]
    if host.gpus and not runtimes:
        observed = f"vLLM {said.value('vllm')} with a torch that has no GPU runtime"
        return Finding(ID, Status.FAIL, host.host, observed, required, remedy)
    return Finding(ID, Status.PASS, host.host, f"vLLM {said.value('vllm')}, torch for {' '.join(runtimes) or 'CPUs'}")
