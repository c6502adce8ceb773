# shellcheck shell=sh
section_network() {
    item links ip -o link show
    item addresses ip -o addr show
    item speeds values /sys/class/net/*/speed
    item ports cat /proc/sys/net/ipv4/ip_local_port_range
    asked_addresses route_to
}

# route_to ADDRESS: one page, the kernel's own answer; a name is looked up first.
route_to() {
    page route "$1" route_of "$1"
}

route_of() {
    case $1 in
    *[!0-9.]*) ;;
    *) ip -o route get "$1" && return ;;
    esac
    case $1 in
    *:*) ip -o route get "$1" && return ;;
    esac
    address=$(getent ahosts "$1" | sed -n '1s/[[:space:]].*//p')
    if [ -z "$address" ]; then
        echo "the name $1 has no address here" >&2
        return 1
    fi
    ip -o route get "$address"
}

# The kernel's tables are asked only where `ss` did not answer: with many connections they are long.
section_listeners() {
    item ss ss -ltnp
    [ "$(cat listeners.status)" = 'listeners.ss 0' ] || item tables grep -h ' 0A ' /proc/net/tcp /proc/net/tcp6
}
