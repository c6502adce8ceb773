"""Small programs that call CUDA's driver itself, by ctypes: no torch, so that the first code that fails is its own."""

from __future__ import annotations

from inventory.quoting import quote, quote_all
from playbooks.checks.active.base import python_of
from playbooks.checks.active.rt_docker_gpu import kept
from playbooks.requirements import HostRequirements, Requirements

CALLS = """
import ctypes, os, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    print("failed load -1", error, flush=True)
    sys.exit(0)
def named(code):
    text = ctypes.c_char_p()
    cuda.cuGetErrorName(code, ctypes.byref(text))
    return (text.value or b"unnamed").decode()
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        print("failed", name, code, named(code), flush=True)
        sys.exit(0)
number = ctypes.c_int()
devices = {}
def context(index):
    device, made = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), index)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(made), device)
    devices[index] = device
    call("cuCtxSetCurrent", made)
    return made
def room(size):
    place = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(size))
    return place
call("cuInit", 0)
call("cuDriverGetVersion", ctypes.byref(number))
print("driver", number.value, flush=True)
call("cuDeviceGetCount", ctypes.byref(number))
print("count", number.value, flush=True)
wanted = [int(word) for word in sys.argv[1:]]
if os.environ.get("CUDA_VISIBLE_DEVICES"):
    wanted = list(range(len(wanted)))
"""
"""The start of a program whose arguments are indices of GPUs as the driver counts them.

Where a call fails the program ends with a line `failed CALL CODE NAME`.
"""


def start(host: HostRequirements, needs: Requirements, program: str) -> str | None:
    """A script that runs `program` as a rank would be: in its container, else in its environment with its variables.

    A host whose environment is not there yet lends its own python3: the driver is the same. None: nothing to run it.
    """
    indices = [str(index) for index in host.gpus]
    variables = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **dict(host.env)}
    env = [f"{name}={value}" for name, value in variables.items()]
    if needs.container is not None:
        return in_container(needs, program, indices)
    python = python_of(host)
    if python is None:
        return None
    marker = quote(f"{python.rpartition('/bin/')[0]}/bringup-env.json")
    return "\n".join(
        [
            f"if grep -q '\"simulated\": *true' {marker} 2>/dev/null || [ -e /etc/bringup-lab ]; then",
            "    echo simulated; exit 0",
            "fi",
            f"python={quote(python)}",
            '[ -x "$python" ] || python=$(command -v python3) || { echo no-tool python3; exit 0; }',
            f'cd / && exec env -i {quote_all(env)} "$python" -B -c {quote(program)} {quote_all(indices)} </dev/null\n',
        ]
    )


def in_container(needs: Requirements, program: str, indices: list[str]) -> str | None:
    container = needs.container
    if container is None or container.image is None or container.arguments is None:
        return None
    image = container.image + (f"@{container.digest}" if container.digest else "")
    options = ["--rm", "--pull", "never", *kept(container.arguments), "-e", "CUDA_DEVICE_ORDER=PCI_BUS_ID"]
    words = [*options, "--entrypoint", "python3", image, "-B", "-c", program, *indices]
    return (
        "command -v docker >/dev/null || { echo no-tool docker; exit 0; }\n"
        f"docker image inspect {quote_all([image])} >/dev/null 2>&1 || {{ echo absent; exit 0; }}\n"
        f"docker run {quote_all(words)} </dev/null\n"
    )
