"""The one name under which the readers know a file, whatever options, folders and endings its author wrote into it.

Files of a case are named after the command that printed them: `ip_-j_addr.json`, `ip_-br_addr.txt` and `ip_addr.txt`
are one question. What stands before (`in_container_`, `in_unit_`, `in_image_`) says where it was asked and stays.
"""

from __future__ import annotations

import re

PREFIX = re.compile(r"^((?:in_(?:container|image|unit|context)|launch_context|container|unit)_)?(.*)$")
PLACED = {"container_": "in_container_", "unit_": "in_unit_", "launch_context_": "in_unit_", "in_context_": "in_unit_"}
ENDING = re.compile(r"\.(?:txt|out|json|csv|tsv|log|conf|cfg|yaml|env)$")
COLUMNS = (
    *("gpu_recovery_action", "mig.mode.current", "compute_cap", "driver_version", "power.limit", "clocks.max.sm"),
    *("memory.total", "memory.free", "memory.used", "vbios_version", "gpu_uuid", "uuid", "name"),
)
KNOWN = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"getent_(ahosts(v4)?|hosts)(_.*)?", "getent_ahosts_hostname.txt"),
        (r"(etc_)?hosts", "etc_hosts.txt"),
        (r"ip_(-\w+_)*route_get.*", "ip_route_get.txt"),
        (r"ip_(-\w+_)*(addr(ess)?|a)(_.*)?", "ip_addr.txt"),
        (r"ip_(-\w+_)*(link|l)(_.*)?", "ip_link.txt"),
        (r"(sys_class_net_)(\S+)_mtu", r"sys_class_net_\2_mtu.txt"),
        (r"ss(_-.*)?|netstat_-.*", "ss_-ltnp.txt"),
        (r"(.*_)?ip_local_port_range", "ip_local_port_range.txt"),
        (r"(.*_)?ip_local_reserved_ports", "ip_local_reserved_ports.txt"),
        (r"df_(.*_)?-i.*", "df_-i.txt"),
        (r"df_(.*_)?dev_shm", "df_dev_shm.txt"),
        (r"df(_.*)?", "df.txt"),
        (r"docker_(system_)?info_.*root.*", "docker_info_root.txt"),
        (r"docker_(system_)?info(_.*)?", "docker_info.txt"),
        (r"docker_(container_)?inspect_.*stop_?timeout.*", "docker_inspect_StopTimeout.txt"),
        (r"docker_(container_)?inspect_.*(cmd|entrypoint|path|args).*", "docker_inspect_Cmd.txt"),
        (r"docker_(container_)?inspect_.*logconfig.*", "docker_inspect_LogConfig.txt"),
        (r"docker_(container_)?inspect_.*env.*", "in_image_env.txt"),
        (r"((docker|podman)_)?((image|images)_)?inspect(_.*)?", "inspect.json"),
        (r"((python3?_)?(-m_)?|uv_)?pip3?_(freeze|list)(_.*)?", "pip_freeze.txt"),
        (r"nvidia-smi_(.*_)?topo.*|topo_-m", "nvidia-smi_topo_-m.txt"),
        (r"nvidia-smi_nvlink_-e", "nvidia-smi_nvlink_-e.txt"),
        (r"nvidia-smi_-q.*", "nvidia-smi_-q.txt"),
        (r"nvidia-smi_-L.*", "nvidia-smi_-L.txt"),
        (r"lspci_-vv.*", "lspci_-vv.txt"),
        (r"lspci_nvswitch", "lspci_nvswitch.txt"),
        (r"lspci(_.*)?", "lspci.txt"),
        (r"lsmod|proc_modules", "lsmod.txt"),
        (r"(ls_(-\w+_)?)?(sys_kernel_mm_)?memory_peers", "ls_memory_peers.txt"),
        (r"ls_(-\w+_)*dev_nvidia-caps-imex-channels.*|ls_imex_channels", "ls_imex_channels.txt"),
        (r"ls_(-\w+_)*dev_infiniband", "ls_dev_infiniband.txt"),
        (r"(etc_nvidia-imex_)?nodes_config(\.cfg)?", "nodes_config.cfg"),
        (r"(.*_)?opt_rocm_?\.?info_version|rocm_version", "opt_rocm_info_version.txt"),
        (r"(modinfo_.*amdgpu.*|sys_module_amdgpu_version|amdgpu_version)", "sys_module_amdgpu_version.txt"),
        (r"modinfo_.*nvidia.*", "modinfo_nvidia.txt"),
        (r"show_gids|ibdev2netdev|ibstat(us)?|ibv_devinfo.*", r"\g<0>.txt"),
        (r"gids|sys_class_infiniband.*", "sys_class_infiniband.txt"),
        (r"(sha256sum_)?libnccl.*|nccl_(version|path|identity)|sha256sum_.*nccl.*", "libnccl.txt"),
        (r"(stat|ls)_(-\w+_)*dev_kfd", "stat_dev_kfd.txt"),
        (r"(stat|ls)_(-\w+_)*dev_dri.*", "stat_dev_dri.txt"),
        (r"journalctl_.*fabricmanager.*|journal_(fm|fabricmanager)", "journal_fm.txt"),
        (r"ps_nvlsm|pgrep_nvlsm", r"\g<0>.txt"),
        (r"ps_(-\w+_)*p?%?cpu.*|ps_.*sort.*", "ps_pcpu.txt"),
        (r"ps(_-.*|_aux|_ef)?", "ps.txt"),
        (r"(cc|gcc|clang)_--version", "cc_--version.txt"),
        (r"(nvcc|hipcc)_--version", r"\1_--version.txt"),
        (r"(which|command_-v)_(nvcc|hipcc)", r"which_\2.txt"),
        (r"python3?(\.\d+)?_(--version|-V)", "python_--version.txt"),
        (r"uptime_(-s|--since|since)", "uptime_since.txt"),
        (r"uname_-m", "uname_-m.txt"),
        (r"uname_-r", "uname_-r.txt"),
        (r"uname(_-a)?", "uname_-a.txt"),
        (r"((docker|skopeo|podman)_)?(buildx_imagetools_)?(manifest_inspect|inspect_--raw)(_.*)?", "manifest.json"),
        (r"ls_.*boot.*", "ls_boot.txt"),
        (r"(ls|readlink|find)_.*infiniband.*driver.*|ibdev_drivers?|rdma_drivers?", "ibdev_drivers.txt"),
        (r"ls_.*dev_shm.*", "ls_dev_shm.txt"),
        (r"ls_.*ld\.so.*", "ls_ld_so_conf.txt"),
        (r"(ls|find)_.*(autotune|cache).*", "find_cache.txt"),
        (r"find_.*lock.*|(hub_)?locks", "find_locks.txt"),
        (r"(ls_-l\w*|find_-\w+|find|stat_-c.*|du_-b.*)(_.*)?", "ls_-l.txt"),
    )
)


def canonical(name: str) -> str:
    """`ip_addr.txt` of `ip_-j_addr_show.json`; a name that fits no pattern stays as it is."""
    ending = ENDING.search(name)
    stem = ENDING.sub("", name)
    match = PREFIX.match(stem)
    prefix, bare = (match[1] or "", match[2]) if match else ("", stem)
    place = PLACED.get(prefix, prefix)
    if name in {"manifest.tsv", "manifest.json"}:
        return name
    if ending and ending[0] == ".csv":
        return name if name.startswith(("nvidia-smi", "gpu_", "query-gpu")) else f"gpu_{name}"
    if "query" in bare and "nvidia-smi" in bare:
        return f"{place}{bare}.csv"
    for pattern, known in KNOWN:
        found = pattern.fullmatch(bare)
        if found:
            return place + found.expand(known)
    return f"{place}{bare}{ending[0] if ending else ''}" if place != prefix else name


def column_of(name: str) -> str | None:
    """The column of a table without header, by its file's name."""
    return next((column for column in COLUMNS if column in name), None)
