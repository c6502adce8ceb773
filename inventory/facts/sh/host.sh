# shellcheck shell=sh
# What else of the host decides whether ranks start and stay.
section_host() {
    item account getent passwd "$(id -un)"
    item missing missing_tools
    item libc libc_version
    item machine machine_digest
    item balancing cat /proc/sys/kernel/numa_balancing
    item lock cat "$state_dir/lock/owner"
    item load cat /proc/loadavg
    item busiest busiest
}

# Tools that other sections ask; some lie where a login does not look.
missing_tools() {
    PATH="$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin:/opt/rocm/bin"
    for tool in ip ss lspci numactl ibv_devinfo ethtool timedatectl; do
        command -v "$tool" >/dev/null || printf '%s\n' "$tool"
    done
}

# musl's ldd has no such flag, says so, and tells its version all the same.
libc_version() {
    getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | head -n 3
}

# Never the id itself: whoever has it can name this machine elsewhere.
machine_digest() {
    [ -s /etc/machine-id ] && sha256sum </etc/machine-id | cut -c 1-16
}

busiest() {
    ps -eo pid=,pcpu=,comm= --sort=-pcpu | head -n 12
}

# What asks a daemon of systemd.
section_sessions() {
    [ -d /run/systemd/system ] || return 0
    item synchronised timedatectl show -p NTPSynchronized &
    item user user_sessions
    wait
}

user_sessions() {
    loginctl show-user "$(id -un)" -p Linger
    loginctl show-user -p KillUserProcesses
}

section_sshd() {
    if [ "$(id -u)" = 0 ]; then item limits sshd_limits; else item limits sshd_limits sudo -n; fi
}

sshd_limits() {
    "$@" sshd -T >.sshd || return
    grep -i -E '^(maxstartups|maxsessions) ' .sshd
}

section_upkeep() {
    item automatic automatic_updates
    item held dpkg --get-selections
    item reboot reboot_wanted
    item kernels kernels
    item booted uptime -s
    item upgraded upgraded
}

automatic_updates() {
    apt-config dump | grep -E '^(APT::Periodic::Unattended-Upgrade|Unattended-Upgrade::Package-Blacklist)'
    for timer in /etc/systemd/system/timers.target.wants/*; do
        case $timer in *dnf-automatic*.timer | *apt-daily-upgrade.timer) printf 'timer %s\n' "${timer##*/}" ;; esac
    done
    grep -h -s -E '^ *exclude(pkgs)? *=' /etc/dnf/dnf.conf /etc/dnf/automatic.conf
    sed -n 's/^\([^#!].*\)-[0-9]*:[^-]*-[^-]*$/locked \1/p' /etc/dnf/plugins/versionlock.list 2>/dev/null
}

# reboot_wanted: the packages that want one.
reboot_wanted() {
    [ -e /run/reboot-required ] || [ -e /var/run/reboot-required ] || return 0
    echo required
    sort -u /run/reboot-required.pkgs | head -n 40
} 2>/dev/null

kernels() {
    for kernel in /boot/vmlinuz-*; do
        [ ! -e "$kernel" ] || printf '%s\n' "${kernel##*/vmlinuz-}"
    done
}

upgraded() {
    grep -h -s -E ' (upgrade|install) ((lib)?nvidia|linux-image|amdgpu|cuda-drivers)' /var/log/dpkg.log.1 /var/log/dpkg.log |
        tail -n 60
}

# What compiles kernels when a rank starts: really compiled and linked, in the private folder.
section_toolchain() {
    item cc cc --version
    item compiled compiled
    item python-headers python_headers
}

compiled() {
    printf '#include <stddef.h>\n#include <math.h>\ndouble probe(double x) { return sqrt(x); }\n' >.probe.c
    cc -shared -fPIC -o .probe.so .probe.c -lm
}

# `FOLDER yes` for each environment whose Python has its headers.
python_headers() {
    for folder in "$state_dir"/envs/*/; do
        python=$(readlink -f "${folder}bin/python") || continue
        headers=no
        for header in "${python%/bin/*}"/include/python3*/Python.h; do [ ! -e "$header" ] || headers=yes; done
        printf '%s %s\n' "${folder%/}" "$headers"
    done
}
