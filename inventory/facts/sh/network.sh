# shellcheck shell=sh
section_network() {
    item links ip -o link show
    item addresses ip -o addr show
    item speeds values /sys/class/net/*/speed
    item ports cat /proc/sys/net/ipv4/ip_local_port_range
    item reserved cat /proc/sys/net/ipv4/ip_local_reserved_ports
    item routes all_routes
    if [ -s network.routes.out ]; then asked_addresses other_route; else asked_addresses route_to; fi
}

# One process tells the way to all hosts, however many. Only of plain IPv4 addresses: names, and IPv6 in another
# spelling, would not be found in its answer. Busybox's ip knows no -batch.
all_routes() {
    asked_addresses list_route | ip -o -force -batch -
}

list_route() {
    case $1 in
    *[!0-9.]*) ;;
    *) printf 'route get %s\n' "$1" ;;
    esac
}

other_route() {
    case $1 in
    *[!0-9.]*) route_to "$1" ;;
    esac
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
