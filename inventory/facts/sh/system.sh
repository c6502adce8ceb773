# shellcheck shell=sh
section_system() {
    item lab cat /etc/bringup-lab
    item release os_release
    item kernel uname -rm
    item hostname uname -n
    item boot cat /proc/sys/kernel/random/boot_id
    item user id -un
    item uid id -u
    item init cat /proc/1/comm
    item container container_kind
    item limits cat /proc/self/limits
    [ -n "$sysroot" ] || machine_names
}

# What the firmware calls the machine, or the board where there is none (Jetson).
machine_names() {
    item firmware values /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
    item board cat /proc/device-tree/model
    item soc cat /proc/device-tree/compatible
    item tegra cat /etc/nv_tegra_release
}

# Root needs none, and a login by PAM is not free.
section_sudo() {
    [ "$(id -u)" = 0 ] || item true sudo -n true
}

os_release() {
    cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release
}

# container_kind: what kind of container this is, nothing on a machine.
container_kind() {
    if [ -r /run/systemd/container ]; then
        cat /run/systemd/container
    elif [ -e /.dockerenv ]; then
        echo docker
    elif [ -e /run/.containerenv ]; then
        echo podman
    else
        tr '\0' '\n' 2>/dev/null </proc/1/environ | sed -n 's/^container=//p'
    fi
}
