"""GPUs, drivers, NVLink and RDMA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import Unknown, is_known
from inventory.facts.gpu.bridges import parse_bridges
from inventory.facts.gpu.imex import parse_domain
from inventory.facts.gpu.nccl import parse_identity
from inventory.facts.gpu.nvidia import gpu_fact
from inventory.facts.gpu.nvidia_csv import parse_rows, read_row
from inventory.facts.gpu.nvidia_driver import (
    libcuda,
    parse_devices,
    parse_linked,
    parse_lsmod,
    parse_module,
    parse_parameters,
)
from inventory.facts.gpu.nvidia_gpu import NvidiaGpu, pci_address, process
from inventory.facts.gpu.nvlink import parse_nvlink_errors
from inventory.facts.gpu.pasted import parse_gpus
from inventory.facts.gpu.rocm_text import parse_rocm_text
from inventory.facts.gpu.xid import parse_xids
from inventory.facts.host import Device, Driver, Fabric, Gpu, Gpus, HostFacts, LaunchContext
from inventory.facts.lspci import parse_lspci
from inventory.facts.pasted import pasted_rdma
from inventory.facts.processes import parse_processes
from inventory.facts.rdma import parse_devices as parse_rdma_files
from tests.cases.reader import Files, Reader

SMI = ("nvidia-smi_-q*", "nvidia-smi_-L.txt", "nvidia-smi.txt")
TABLES = ("nvidia-smi*.csv", "gpu_*.csv", "query-gpu*.csv")
REMAPPED = re.compile(
    r"GPU (\S+) Remapped Rows Correctable \d+ Uncorrectable (\d+) Pending (\w+) Remapping Failure (\w+)"
)
NO_FABRIC = Fabric(None, None, None, None, None)
MODE = re.compile(r"(?m)^(\S{10}) (\S+) (\S+) .*?(/dev/\S+)(?: gid=(\d+))?\s*$")


def _gpus(files: Files, told: HostFacts) -> Mapping[str, Any]:
    found = parse_gpus(files.texts(*SMI), (), ())
    rows = [row for text in files.texts(*TABLES) for row in parse_rows(with_header(files, text))]
    rows = [row for row in rows if {"index", "name", "gpu_index"} & set(row)]
    if not rows:
        return {"gpus": found, **driver_of(files, told)}
    if not is_known(found):
        return {"gpus": of_rows(rows)}
    return {"gpus": replace(found, devices=merged(found.devices, rows))}


def with_header(files: Files, text: str) -> str:
    """A table of one field beside the index was asked for without its header: the file is named after the field."""
    name = next(name for name, own in files.own.items() if own == text).removesuffix(".csv")
    return f"index, {name}\n{text}" if re.match(r"\d+,[^,]*$", text.partition("\n")[0]) else text


def driver_of(files: Files, told: HostFacts) -> Mapping[str, Any]:
    """A table of the driver's version alone."""
    rows = [row for text in files.texts(*TABLES) for row in parse_rows(text)]
    version = next((row["driver_version"] for row in rows if "driver_version" in row), None)
    return {"driver": replace(known_driver(told), module=version)} if version else {}


def of_rows(rows: list[dict[str, str]]) -> Gpus:
    driver = next((row["driver_version"] for row in rows if "driver_version" in row), None)
    indices = sorted({index_of(row) for row in rows})
    blank = tuple(gpu_fact(index, NvidiaGpu(name="", pci_address=""), None, None) for index in indices)
    return Gpus("nvidia", driver, None, merged(blank, rows), simulated=False)


def index_of(row: Mapping[str, str]) -> int:
    return int(row.get("index") or row.get("gpu_index") or 0)


def merged(devices: Iterable[Gpu], rows: list[dict[str, str]]) -> tuple[Gpu, ...]:
    return tuple(with_rows(gpu, [row for row in rows if index_of(row) == gpu.index]) for gpu in devices)


def with_rows(gpu: Gpu, rows: list[dict[str, str]]) -> Gpu:
    """What tables tell of a GPU: columns of --query-gpu, and a line a process of --query-compute-apps."""
    table = {name: value for row in rows for name, value in row.items()}
    told = gpu_fact(gpu.index, read_row({"name": gpu.name, **table}), None, table.get("compute_cap"))
    held = (
        process(row["pid"], row.get("process_name", ""), row.get("used_memory") or row.get("used_gpu_memory", ""))
        for row in rows
        if "pid" in row
    )
    processes = gpu.processes + tuple(one for one in held if one)
    if gpu.pci_address:  # a fuller answer is there already
        return replace(gpu, processes=processes)
    return replace(told, processes=processes)


def _remapped(files: Files, _: HostFacts) -> Mapping[str, Any]:
    lines = REMAPPED.findall(files.own["remapped.txt"])
    devices = tuple(
        gpu_fact(index, row, None, None)
        for index, row in enumerate(
            NvidiaGpu("", pci_address(address), remapped_rows=rows, remap_pending=pending, remap_failure=failure)
            for address, rows, pending, failure in lines
        )
    )
    return {"gpus": Gpus("nvidia", None, None, devices, simulated=False)}


def _amd(files: Files, _: HostFacts) -> Mapping[str, Any]:
    answer = parse_rocm_text(files.own["rocm-smi.txt"])
    if isinstance(answer, Unknown):
        return {"gpus": answer}
    devices = tuple(gpu_fact(n, NvidiaGpu(one.name, ""), None, one.gfx) for n, one in enumerate(answer.gpus))
    return {"gpus": Gpus("amd", answer.driver, None, devices, simulated=False)}


def known_driver(told: HostFacts) -> Driver:
    return told.driver if is_known(told.driver) else Driver()


def _driver(files: Files, told: HostFacts) -> Mapping[str, Any]:
    driver = known_driver(told)
    for text in files.texts("proc_driver_nvidia_version.txt"):
        module, is_open = parse_module(text)
        driver = replace(driver, module=module, open_module=is_open)
    for text in files.texts("*ldconfig_-p.txt"):
        linked = parse_linked(text)
        library = next((one.version for one in linked if "libnvidia-ml" in one.path), driver.library)
        driver = replace(driver, libcuda=libcuda(linked), library=library)
    for text in files.texts("lsmod.txt", "proc_modules.txt"):
        driver = replace(driver, loaded=parse_lsmod(text))
    for text in files.texts("proc_driver_nvidia_params.txt"):
        driver = replace(driver, parameters=parse_parameters(text))
    for text in files.texts("ls_memory_peers.txt", "memory_peers.txt", "ls_sys_kernel_mm_memory_peers.txt"):
        driver = replace(driver, memory_peers=() if "No such file" in text else tuple(text.split()))
    for text in files.texts("pgrep_nvlsm.txt", "ps_nvlsm.txt"):
        driver = replace(driver, nvlsm=bool(text.strip()))
    for text in files.texts("sys_module_amdgpu_version.txt", "amdgpu_version.txt"):
        driver = replace(driver, amdgpu=text.strip() or None)
    for text in files.texts("opt_rocm_info_version.txt", "rocm_version.txt"):
        driver = replace(driver, rocm=text.strip() or None)
    return {"driver": driver}


def _fabric(files: Files, told: HostFacts) -> Mapping[str, Any]:
    fabric = told.fabric if is_known(told.fabric) else NO_FABRIC
    for text in files.texts("lspci_nvswitch.txt"):
        fabric = replace(fabric, switches=len(parse_lspci(text)))
    for text in files.texts("systemctl_is-active_nvidia-fabricmanager.txt"):
        fabric = replace(fabric, manager=text.strip())
    for text in files.texts("systemctl_is-active_nvidia-imex.txt"):
        fabric = replace(fabric, imex=text.strip())
    for text in files.texts("nv-fabricmanager_--version.txt"):
        version = re.search(r"\d+(?:\.\d+)+", text)
        fabric = replace(fabric, manager_version=version[0] if version else None)
    for text in files.texts("journal_fm.txt"):
        fabric = replace(fabric, manager_says=text.strip() or None)
    for text in files.texts("nodes_config.cfg"):
        fabric = replace(fabric, imex_nodes=tuple(text.split()))
    for text in files.texts("nvidia-imex-ctl*.txt"):
        fabric = replace(fabric, imex_domain=parse_domain(text))
    for text in files.texts("proc_devices.txt"):
        fabric = replace(fabric, imex_device=parse_devices(text))
    for text in files.texts("ls_dev_nvidia-caps-imex-channels.txt", "ls_imex_channels.txt"):
        channels = () if "No such file" in text else tuple(map(int, re.findall(r"channel(\d+)", text)))
        fabric = replace(fabric, imex_channels=channels)
    return {"fabric": fabric}


def _in_container(files: Files, told: HostFacts) -> Mapping[str, Any]:
    text = files.own["in_container_ls_dev_infiniband.txt"]
    names = [] if "No such file" in text else re.findall(r"\b(?:uverbs\d+|rdma_cm|umad\d+)\b", text)
    devices = tuple(Device(f"/dev/infiniband/{name}", opens=True) for name in names)
    context = told.context if is_known(told.context) else LaunchContext("container")
    return {"context": replace(context, where="container", devices=devices)}


def _kfd(files: Files, told: HostFacts) -> Mapping[str, Any]:
    """The case's form of `stat`: whether the run user may is decided by its groups."""
    context = told.context if is_known(told.context) else LaunchContext("login")
    found = MODE.findall("\n".join(files.texts("stat_dev_*.txt")))
    devices = tuple(
        Device(path, opens=may_open(mode, owner, int(gid or -1), context), group=group, gid=int(gid or -1), mode=mode)
        for mode, owner, group, path, gid in found
    )
    return {"context": replace(context, devices=devices)}


def may_open(mode: str, owner: str, gid: int, context: LaunchContext) -> bool:
    """What the kernel would say of opening for reading and writing."""
    if context.uid == 0:
        return True
    bits = mode[1:4] if owner == context.user else mode[4:7] if gid in context.groups else mode[7:10]
    return bits.startswith("rw")


def _rdma(files: Files, _: HostFacts) -> Mapping[str, Any]:
    texts = files.texts("ibstat*.txt", "ibv_devinfo*.txt", "rdma_link*", "ibdev2netdev.txt")
    found = next(filter(None, map(pasted_rdma, texts)), ())
    files_of = files.texts("sys_class_infiniband*.txt")
    read = parse_rdma_files("\n".join(files_of), "\n".join(files_of), "\n".join(files_of), "\n".join(files_of))
    return {"rdma": read or found}


def only(files: Files, pattern: str) -> str:
    return files.texts(pattern)[0]


READERS: tuple[Reader, ...] = (
    Reader(("remapped.txt",), _remapped),
    Reader((*SMI, *TABLES), _gpus),
    Reader(("rocm-smi.txt",), _amd),
    Reader(("ps.txt",), lambda files, _: {"processes": parse_processes(files.own["ps.txt"])}),
    Reader(
        ("kernel.txt", "dmesg.txt", "journalctl_-k*.txt"),
        lambda files, _: {"xids": parse_xids("\n".join(files.texts("kernel.txt", "dmesg.txt", "journalctl_-k*.txt")))},
    ),
    Reader(
        (
            *("proc_driver_nvidia_*.txt", "*ldconfig_-p.txt", "lsmod.txt", "proc_modules.txt", "*memory_peers.txt"),
            *("pgrep_nvlsm.txt", "ps_nvlsm.txt", "*amdgpu_version.txt", "opt_rocm_info_version.txt"),
            "rocm_version.txt",
        ),
        _driver,
    ),
    Reader(
        (
            *("lspci_nvswitch.txt", "systemctl_is-active_nvidia-*.txt", "nv-fabricmanager_--version.txt"),
            *("journal_fm.txt", "nodes_config.cfg", "nvidia-imex-ctl*.txt", "proc_devices.txt"),
            *("ls_dev_nvidia-caps-imex-channels.txt", "ls_imex_channels.txt"),
        ),
        _fabric,
    ),
    Reader(("in_container_ls_dev_infiniband.txt",), _in_container),
    Reader(("host_ls_dev_infiniband.txt",), lambda *_: {}),
    Reader(("stat_dev_*.txt",), _kfd),
    Reader(("ibstat*.txt", "ibv_devinfo*.txt", "rdma_link*", "ibdev2netdev.txt", "sys_class_infiniband*.txt"), _rdma),
    Reader(("*nvlink_-e.txt",), lambda files, _: {"nvlink_errors": parse_nvlink_errors(only(files, "*nvlink_-e.txt"))}),
    Reader(("lspci_-vv*.txt",), lambda files, _: {"bridges": parse_bridges(only(files, "lspci_-vv*.txt"))}),
    Reader(("proc_cmdline.txt",), lambda files, _: {"boot_arguments": files.own["proc_cmdline.txt"].strip()}),
    Reader(
        ("libnccl*.txt",),
        lambda files, _: {"nccl": parse_identity(only(files, "libnccl*.txt"))},
    ),
)
