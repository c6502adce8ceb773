# shellcheck shell=sh
# Each call that can take seconds is a section of its own.
section_nvidia() {
    item version cat "$sysroot/proc/driver/nvidia/version"
    item nodes ls /dev/nvidiactl /dev/nvidia0
    item xml nvidia_xml
    worked=$(sed -n '$s/^nvidia.xml //p' nvidia.status)
    [ "$worked" = 0 ] || [ "$worked" = 127 ] || nvidia_otherwise
    sed -n 's,.*<pid>\([0-9]*\)</pid>.*,\1,p' .nvidia.xml >.gpu-pids
    [ "$worked" = 127 ] || item owners gpu_owners .gpu-pids
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

section_nvidia_links() {
    item errors nvidia-smi nvlink -e
}

# The whole domain as this host sees it; the service must take commands (IMEX_CMD_ENABLED).
section_nvidia_imex() {
    item domain nvidia-imex-ctl -N
}

section_nvidia_services() {
    item imex-nodes cat "$sysroot/etc/nvidia-imex/nodes_config.cfg"
    item imex-channels ls "$sysroot/dev/nvidia-caps-imex-channels"
    item container-toolkit nvidia-ctk --version
    item fabric-manager nv-fabricmanager --version
    item units nvidia_units
    item devices grep -a imex "$sysroot/proc/devices"
    case $(cat nvidia_services.units.out) in
    *ActiveState=failed*) item manager-log journalctl -q -u nvidia-fabricmanager -b -o cat -n 40 --no-pager ;;
    esac
}

# Nothing where systemd is not PID 1.
nvidia_units() {
    [ ! -d /run/systemd/system ] ||
        systemctl show -p Id,LoadState,ActiveState nvidia-fabricmanager.service nvidia-imex.service
}
