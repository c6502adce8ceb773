# shellcheck shell=sh
# RDMA devices as the kernel has them; no tool is needed.
section_rdma() {
    devices=$sysroot/sys/class/infiniband
    item devices values "$devices"/*/fw_ver "$devices"/*/hca_type "$devices"/*/board_id "$devices"/*/sys_image_guid \
        "$devices"/*/ports/*/state "$devices"/*/ports/*/phys_state "$devices"/*/ports/*/rate \
        "$devices"/*/ports/*/link_layer "$devices"/*/device/numa_node
    [ -n "$sysroot" ] || [ -d "$devices" ] || item ibstat ibstat
    item netdevs rdma_netdevs
    [ -n "$sysroot" ] || item paths rdma_paths
    item drivers grep -a -s '^DRIVER=' /dev/null "$devices"/*/device/uevent
    item gids values "$devices"/*/ports/*/gids/[0-9] "$devices"/*/ports/*/gids/1[0-5] \
        "$devices"/*/ports/*/gid_attrs/types/[0-9] "$devices"/*/ports/*/gid_attrs/types/1[0-5]
}

# Where each lies: `/sys/devices/pci0000:15/.../0000:18:00.0/infiniband/mlx5_0`.
rdma_paths() {
    set -- "$devices"/*
    [ ! -e "$1" ] || readlink -f "$@"
}

# The interfaces of each device: `.../mlx5_0/device/net/ibp24s0`.
rdma_netdevs() {
    for netdev in "$devices"/*/device/net/*; do
        [ ! -e "$netdev" ] || printf '%s\n' "$netdev"
    done
}
