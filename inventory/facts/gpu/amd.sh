# shellcheck shell=sh
section_amd() {
    item node ls /dev/kfd
    item list amd-smi list --json
    item static amd-smi static --json
    item process amd-smi process --json
    amd_status=$(sed -n 's/^amd.static //p' amd.status)
    [ "$amd_status" = 0 ] || item rocm rocm-smi --showproductname --showuniqueid --showbus --showmeminfo vram \
        --showtoponuma --showdriverversion --json
    item kfd kfd_nodes
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
