# shellcheck shell=sh
section_amd() {
    item node ls /dev/kfd
    item list amd-smi list --json
    item static amd-smi static --json
    item process amd-smi process --json
    amd_status=$(sed -n 's/^amd.static //p' amd.status)
    [ "$amd_status" = 0 ] || amd_otherwise
    item kfd kfd_nodes
    sed -n 's/.*"pid": *"*\([0-9]*\).*/\1/p' amd.process.out >.gpu-pids
    [ "$amd_status" = 127 ] || item owners gpu_owners .gpu-pids
}

# Older tools have no JSON, or break while they write it.
amd_otherwise() {
    [ "$amd_status" = 127 ] || item static-text amd-smi static
    item rocm rocm-smi --showproductname --showuniqueid --showbus --showmeminfo vram \
        --showtoponuma --showdriverversion --json
    rocm_status=$(sed -n '$s/^amd.rocm //p' amd.status)
    case $rocm_status in
    0 | 127) ;;
    *) item rocm-text rocm-smi --showproductname --showbus --showmeminfo vram --showtoponuma --showdriverversion ;;
    esac
}

# The kernel's own list of compute nodes: no tool and no rights needed.
kfd_nodes() {
    kfd=$sysroot/sys/class/kfd/kfd/topology/nodes
    [ -d "$kfd" ] || {
        echo "$kfd: No such file or directory" >&2
        return 1
    }
    grep -s . /dev/null "$kfd"/*/gpu_id "$kfd"/*/name "$kfd"/*/properties "$kfd"/*/mem_banks/*/properties \
        "$kfd"/*/io_links/*/properties
}
