# shellcheck shell=sh
section_pci() {
    item devices pci_devices
    [ -n "$sysroot" ] || [ -d /sys/bus/pci/devices ] || item lspci lspci -D -nn
}

# The devices that can be a GPU, its switch or a NIC: `address class vendor device numa_node`.
pci_devices() {
    [ -d "$sysroot/sys/bus/pci/devices" ] || {
        echo "$sysroot/sys/bus/pci/devices: no such folder" >&2
        return 1
    }
    for device in "$sysroot"/sys/bus/pci/devices/*; do
        # A virtual function of SR-IOV is a slice of another device.
        [ ! -e "$device/physfn" ] || continue
        class=
        read -r class <"$device/class" || continue
        case $class in
        0x02* | 0x0680* | 0x03* | 0x12*) ;;
        *) continue ;;
        esac
        vendor='' id='' node=''
        read -r vendor <"$device/vendor"
        read -r id <"$device/device"
        read -r node <"$device/numa_node"
        printf '%s %s %s %s %s\n' "${device##*/}" "$class" "$vendor" "$id" "${node:--1}"
    done 2>/dev/null
}
