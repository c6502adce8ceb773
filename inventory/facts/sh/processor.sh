# shellcheck shell=sh
section_processor() {
    cpus=$sysroot/sys/devices/system/cpu
    nodes=$sysroot/sys/devices/system/node
    item online cat "$cpus/online"
    item online-each values "$cpus"/cpu[0-9]*/online
    item topology values "$cpus"/cpu[0-9]*/topology/physical_package_id "$cpus"/cpu[0-9]*/topology/core_id \
        "$cpus"/cpu[0-9]*/topology/book_id "$cpus"/cpu[0-9]*/topology/drawer_id
    item siblings siblings
    item cpuinfo grep -a -E '^(processor|physical id|core id|model name|cpu|Processor|Hardware)' \
        "$sysroot/proc/cpuinfo"
    item allowed allowed_cpus
    item nodes values "$nodes"/node[0-9]*/distance
    item node-cpus node_cpus
    item node-memory node_memory
    item memory cat "$sysroot/proc/meminfo"
    [ -n "$sysroot" ] || item lscpu lscpu
}

# Kernels before 2.6.26 have masks only.
siblings() {
    set -- "$cpus"/cpu[0-9]*/topology/thread_siblings_list
    [ -e "$1" ] || set -- "$cpus"/cpu[0-9]*/topology/thread_siblings
    values "$@"
}

node_cpus() {
    set -- "$nodes"/node[0-9]*/cpulist
    [ -e "$1" ] || set -- "$nodes"/node[0-9]*/cpumap
    values "$@"
}

# The CPUs that a process we start may use: affinity and cpuset together.
allowed_cpus() {
    if [ -n "$lab_allowed" ]; then
        printf '%s\n' "$lab_allowed"
    else
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
    fi
}

node_memory() {
    set -- "$nodes"/node[0-9]*/meminfo
    [ ! -e "$1" ] || grep -a -h -E 'MemTotal|MemFree|HugePages_Total' "$@"
}
