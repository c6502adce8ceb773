# shellcheck shell=sh
# Each call that can take seconds is a section of its own.
section_nvidia() {
    item version cat /proc/driver/nvidia/version
    item nodes ls /dev/nvidiactl /dev/nvidia0
    item xml nvidia_xml
    worked=$(sed -n '$s/^nvidia.xml //p' nvidia.status)
    [ "$worked" = 0 ] || [ "$worked" = 127 ] || nvidia_otherwise
}

# Without its longest part: hundreds of clock rates a GPU.
nvidia_xml() {
    nvidia-smi -q -x >.nvidia.xml
    nvidia_status=$?
    grep -v supported_graphics_clock .nvidia.xml
    return "$nvidia_status"
}

# Old drivers and cut-down builds have no XML; a broken one tells more in its other answers.
nvidia_otherwise() {
    item text nvidia-smi -q
    item csv nvidia-smi --query-gpu=index,name,uuid,memory.total,pci.bus_id,driver_version --format=csv
    item table nvidia-smi
    item list nvidia-smi -L
    item kernel nvidia_kernel_log
}

nvidia_kernel_log() {
    dmesg | grep -A 2 -E 'NVRM|Xid' | tail -n 40
}

section_nvidia_capability() {
    item csv nvidia-smi --query-gpu=pci.bus_id,compute_cap --format=csv
}

section_nvidia_topology() {
    item matrix nvidia-smi topo -m
}

section_nvidia_services() {
    item imex-nodes cat "$sysroot/etc/nvidia-imex/nodes_config.cfg"
    item imex-channels ls "$sysroot/dev/nvidia-caps-imex-channels"
    item container-toolkit nvidia-ctk --version
    item fabric-manager nv-fabricmanager --version
    item units nvidia_units
}

# Nothing where systemd is not PID 1.
nvidia_units() {
    [ ! -d /run/systemd/system ] ||
        systemctl show -p Id,LoadState,ActiveState nvidia-fabricmanager.service nvidia-imex.service
}
