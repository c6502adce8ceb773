"""GPUs, drivers, NVLink and RDMA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.collect_env import parse_report
from inventory.facts.context import Where
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
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer, NvidiaGpu, pci_address, process
from inventory.facts.gpu.nvlink import parse_nvlink_errors
from inventory.facts.gpu.pasted import nvidia, parse_gpus
from inventory.facts.gpu.rocm_text import parse_rocm_text
from inventory.facts.gpu.xid import parse_xids
from inventory.facts.host import Device, Driver, Fabric, Gpu, Gpus, HostFacts, LaunchContext, RdmaDevice
from inventory.facts.lspci import parse_lspci
from inventory.facts.pasted import pasted_rdma
from inventory.facts.processes import parse_processes
from inventory.facts.rdma import parse_devices as parse_rdma_files
from tests.cases.names import column_of
from tests.cases.reader import Files, Reader

SMI = ("nvidia-smi_-q*", "nvidia-smi_-L.txt", "nvidia-smi.txt")
TABLES = ("nvidia-smi*.csv", "gpu_*.csv", "query-gpu*.csv")
REMAPPED = re.compile(
    r"GPU (\S+) Remapped Rows Correctable \d+ Uncorrectable (\d+) Pending (\w+) Remapping Failure (\w+)"
)
IDLE = Gpus("nvidia", "", None, (gpu_fact(0, NvidiaGpu("", ""), None, None),), simulated=False)
"""A list of processes on GPUs that is empty: there are GPUs, and nobody is on them."""

NO_FABRIC = Fabric(None, None, None, None, None)
STATED = re.compile(
    r"File: (\S+)(?:.|\n)*?Access: \(\d+/(\S{10})\)\s+Uid: \(\s*\d+/\s*(\S+)\)\s+Gid: \(\s*(\d+)/\s*(\S+)\)"
)
MODE = re.compile(r"(?m)^(\S{10}) (\S+) (\S+) .*?(/dev/\S+)(?: gid=(\d+))?\s*$")


def _gpus(files: Files, told: HostFacts) -> Mapping[str, Any]:
    found = known_gpus(files, told)
    rows = [row for text in files.texts(*TABLES) for row in parse_rows(with_header(files, text))]
    uuids = [gpu.uuid for gpu in found.devices] if is_known(found) else []
    uuids += dict.fromkeys(row["gpu_uuid"] for row in rows if row.get("gpu_uuid") not in {None, *uuids})
    rows = [{"index": str(uuids.index(row["gpu_uuid"])), **row} if "gpu_uuid" in row else row for row in rows]
    rows = [row for row in rows if {"index", "name", "gpu_index"} & set(row)]
    if not rows:
        none_held = is_table_of_processes(files) and not is_known(found)
        return {"gpus": IDLE if none_held else found, **driver_of(files, told)}
    if not is_known(found):
        return {"gpus": of_rows(rows)}
    return {"gpus": replace(found, devices=merged(found.devices, rows))}


def known_gpus(files: Files, told: HostFacts) -> Maybe[Gpus]:
    """Of the tool's text, with the places of its matrix; of a matrix alone as many as it has rows."""
    matrices = files.texts("nvidia-smi_topo_-m.txt")
    reports = tuple(parse_report(text) for text in matrices)
    numa = told.numa if is_known(told.numa) else ()
    found = parse_gpus((*files.texts(*SMI), *matrices), reports, numa)
    count = len(reports[0].matrix.gpus) if reports else 0
    if not is_known(found) and count:
        found = nvidia(NvidiaAnswer(None, None, (NvidiaGpu("NVIDIA", ""),) * count), reports, numa)
    said = "\n".join(files.texts(*SMI, *TABLES))
    if not is_known(found) and re.search(r"(?m)rc=(?:124|137)|timed out|timeout: sending", said):
        return Unknown(Why.TIMED_OUT, "the tool did not answer in its time")
    if not is_known(found) and re.search(r"nvidia-smi: (?:command )?not found", said):
        return Unknown(Why.REFUSED, "library_missing: nvidia-smi is not there")
    buses = [one for text in files.texts("lspci.txt") for one in parse_lspci(text) if one.is_gpu]
    shown = len(found.devices) if is_known(found) else 0
    if is_known(found) and len(buses) > shown:
        return replace(found, hidden=tuple(one.address for one in buses[shown:]))
    return found


def with_header(files: Files, text: str) -> str:
    """A table without a header: the file is named after the column, or lists processes."""
    first = text.partition("\n")[0]
    if re.match(r"\d+, *\d+, *\d+ MiB$", first):
        return f"gpu_index, pid, used_memory\n{text}"
    name = next(name for name, own in files.own.items() if own == text).removesuffix(".csv")
    return f"index, {column_of(name) or name}\n{text}" if re.match(r"\d+,[^,]*$", first) else text


def is_table_of_processes(files: Files) -> bool:
    return any("apps" in name for name in files.own)


def driver_of(files: Files, told: HostFacts) -> Mapping[str, Any]:
    """A table of the driver's version alone."""
    rows = [row for text in files.texts(*TABLES) for row in parse_rows(text)]
    version = next((row["driver_version"] for row in rows if "driver_version" in row), None)
    capability = [row["compute_cap"] for row in rows if "compute_cap" in row]
    gpus = [gpu_fact(at, NvidiaGpu("", ""), None, value) for at, value in enumerate(capability)]
    found = {"gpus": Gpus("nvidia", version, None, tuple(gpus), simulated=False)} if gpus else {}
    return found | ({"driver": replace(known_driver(told), module=version)} if version else {})


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
        module, is_open = parse_module(text)  # what a table of the tool says is NVML's word
        driver = replace(driver, library=driver.module, module=module, open_module=is_open)
    for text in files.texts("*ldconfig_-p.txt"):
        linked = parse_linked(text)
        library = next((one.version for one in linked if "libnvidia-ml" in one.path), driver.library)
        driver = replace(driver, libcuda=libcuda(linked), library=library)
    for text in files.texts("nvml_version.txt"):
        driver = replace(driver, library=text.strip() or None)
    for text in files.texts("nvidia-smi*.txt"):
        said = re.search(r"NVML library version: (\S+)", text)
        head = re.search(r"Driver Version: (\d\S+)", text)
        driver = replace(driver, library=said[1] if said else driver.library)
        driver = replace(driver, module=driver.module or (head[1] if head else None))
    kernels = re.findall(r"vmlinuz-(\S+)", " ".join(files.texts("ls_boot*")))
    for text in files.texts("modinfo_nvidia.txt"):
        driver = replace(
            driver, next_kernel=max(kernels, default="the next"), next_kernel_module="not found" not in text
        )
    return {"driver": with_modules(files, driver)}


def with_modules(files: Files, driver: Driver) -> Driver:
    """What of modules, their parameters and their versions is told."""
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
    return driver


def _fabric(files: Files, told: HostFacts) -> Mapping[str, Any]:
    fabric = told.fabric if is_known(told.fabric) else NO_FABRIC
    for text in files.texts("lspci_nvswitch.txt", "lspci.txt"):
        switches = [one for one in parse_lspci(text) if "nvswitch" in one.text.lower()]
        fabric = replace(fabric, switches=len(switches))
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
    for text in files.texts("ls_imex_channels.txt", "in_*_ls_imex_channels.txt"):
        channels = () if "No such file" in text else tuple(map(int, re.findall(r"channel(\d+)", text)))
        fabric = replace(fabric, imex_channels=channels)
    return {"fabric": fabric}


def _in_container(files: Files, told: HostFacts) -> Mapping[str, Any]:
    text = "\n".join(files.texts("in_*_ls_dev_infiniband.txt"))
    names = [] if "No such file" in text else re.findall(r"\b(?:uverbs\d+|rdma_cm|umad\d+)\b", text)
    devices = tuple(Device(f"/dev/infiniband/{name}", opens=True) for name in names)
    channels = "\n".join(files.texts("in_*_ls_imex_channels.txt", "ls_imex_channels.txt"))
    devices += tuple(
        Device(f"/dev/nvidia-caps-imex-channels/channel{number}", opens=mode[7:9] == "rw" if mode else True)
        for mode, number in re.findall(r"(?m)^(c\S{9})?.*?\bchannel(\d+)\s*$", channels)
        if mode or files.texts("in_*_ls_imex_channels.txt")
    )
    context = told.context if is_known(told.context) else LaunchContext("container")
    inside = any(name.startswith("in_") for name in files.own if "ls_dev_inf" in name or "ls_imex" in name)
    where: Where = "container" if inside else context.where
    return {"context": replace(context, where=where, devices=devices)} if inside or devices else {}


def _kfd(files: Files, told: HostFacts) -> Mapping[str, Any]:
    """The case's form of `stat`: whether the run user may is decided by its groups."""
    context = told.context if is_known(told.context) else LaunchContext("login")
    text = "\n".join(files.texts("stat_dev_*.txt"))
    found = MODE.findall(text) + [(m, u, g, p, i) for p, m, u, i, g in STATED.findall(text)]
    devices = tuple(
        Device(path, opens=may_open(mode, owner, gid_of(gid, group, files), context), group=group, mode=mode)
        if not gid
        else Device(path, opens=may_open(mode, owner, int(gid), context), group=group, gid=int(gid), mode=mode)
        for mode, owner, group, path, gid in found
    )
    return {"context": replace(context, devices=devices)}


def gid_of(told: str, group: str, files: Files) -> int:
    """The number of a group: as told, or by the name that it has in `id`; -1: neither."""
    named = re.search(rf"(\d+)\({re.escape(group)}\)", "\n".join(files.texts("*id.txt", "etc_group*")))
    return int(told or (named[1] if named else -1))


def may_open(mode: str, owner: str, gid: int, context: LaunchContext) -> bool:
    """What the kernel would say of opening for reading and writing."""
    if context.uid == 0:
        return True
    bits = mode[1:4] if owner == context.user else mode[4:7] if gid in context.groups else mode[7:10]
    return bits.startswith("rw")


def _rdma(files: Files, _: HostFacts) -> Mapping[str, Any]:
    texts = files.texts("ibstat*.txt", "ibv_devinfo*.txt", "rdma_link*", "ibdev2netdev.txt")
    found = next(filter(None, map(pasted_rdma, texts)), ())
    tables = [show_gids(text) for text in files.texts("show_gids.txt")]
    files_of = [*map(with_folder, files.texts("sys_class_infiniband*.txt")), *tables]
    read = parse_rdma_files("\n".join(files_of), "\n".join(files_of), "\n".join(files_of), "\n".join(files_of))
    drivers = dict(
        re.findall(r"(?m)^(\S+?):?\s+(?:->\s+)?(?:\S*/)?(\w+)\s*$", "\n".join(files.texts("ibdev_drivers.txt")))
    )
    told = read or found or tuple(RdmaDevice(name) for name in drivers)
    return {"rdma": tuple(replace(one, driver=drivers.get(one.name, one.driver)) for one in told)}


def with_folder(text: str) -> str:
    """Lines `mlx5_0/ports/1/state: 4: ACTIVE` were printed in the folder itself."""
    return re.sub(r"(?m)^(?!/)(?:infiniband/)?(\S+?/\S+?):[ \t]*", r"/sys/class/infiniband/\1:", text)


def show_gids(text: str) -> str:
    """The table of `show_gids` as the files that it was made of; it lists ports of RoCE that are up."""
    rows = re.findall(r"(?m)^(\S+)\s+(\d+)\s+(\d+)\s+([0-9a-f:]{39})\s+.*?(v[12])\s", text)
    lines = []
    for device, port, index, value, version in rows:
        folder = f"/sys/class/infiniband/{device}/ports/{port}"
        kind = "RoCE v2" if version == "v2" else "IB/RoCE v1"
        lines += [f"{folder}/gids/{index}:{value}", f"{folder}/gid_attrs/types/{index}:{kind}"]
        lines += [f"{folder}/state:4: ACTIVE", f"{folder}/link_layer:Ethernet"]
    return "\n".join(lines)


def only(files: Files, pattern: str) -> str:
    return files.texts(pattern)[0]


READERS: tuple[Reader, ...] = (
    Reader(("remapped.txt",), _remapped),
    Reader((*SMI, *TABLES, "nvidia-smi_topo_-m.txt", "lspci.txt"), _gpus),
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
            *("rocm_version.txt", "modinfo_nvidia.txt", "nvml_version.txt", "nvidia-smi*.txt"),
        ),
        _driver,
    ),
    Reader(
        (
            *(
                "lspci_nvswitch.txt",
                "lspci.txt",
                "in_*_ls_imex_channels.txt",
                "systemctl_is-active_nvidia-*.txt",
                "nv-fabricmanager_--version.txt",
            ),
            *("journal_fm.txt", "nodes_config.cfg", "nvidia-imex-ctl*.txt", "proc_devices.txt"),
            *("ls_dev_nvidia-caps-imex-channels.txt", "ls_imex_channels.txt"),
        ),
        _fabric,
    ),
    Reader(("in_*_ls_dev_infiniband.txt", "in_*_ls_imex_channels.txt", "ls_imex_channels.txt"), _in_container),
    Reader(("host_*", "ls_dev_infiniband.txt", "*ls_ld_so_conf.txt"), lambda *_: {}),  # beside what decides
    Reader(("stat_dev_*.txt",), _kfd),
    Reader(
        (
            "ibdev_drivers.txt",
            "show_gids.txt",
            "ibstat*.txt",
            "ibv_devinfo*.txt",
            "rdma_link*",
            "ibdev2netdev.txt",
            "sys_class_infiniband*.txt",
        ),
        _rdma,
    ),
    Reader(("*nvlink_-e.txt",), lambda files, _: {"nvlink_errors": parse_nvlink_errors(only(files, "*nvlink_-e.txt"))}),
    Reader(("lspci_-vv*.txt",), lambda files, _: {"bridges": parse_bridges(only(files, "lspci_-vv*.txt"))}),
    Reader(("proc_cmdline.txt",), lambda files, _: {"boot_arguments": files.own["proc_cmdline.txt"].strip()}),
    Reader(
        ("libnccl*.txt",),
        lambda files, _: {"nccl": parse_identity(only(files, "libnccl*.txt"))},
    ),
)
