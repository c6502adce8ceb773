# shellcheck shell=sh
section_processor() {
    cpus=$sysroot/sys/devices/system/cpu
    nodes=$sysroot/sys/devices/system/node
    item online cat "$cpus/online"
    item present cat "$cpus/present"
    item online-each values "$cpus"/cpu[0-9]*/online
    item topology values "$cpus"/cpu[0-9]*/topology/physical_package_id "$cpus"/cpu[0-9]*/topology/core_id \
        "$cpus"/cpu[0-9]*/topology/book_id "$cpus"/cpu[0-9]*/topology/drawer_id
    item siblings siblings
    item cpuinfo grep -a -E '^(processor|physical id|core id|[Mm]odel [Nn]ame|cpu|uarch|Processor|Hardware)' \
        "$sysroot/proc/cpuinfo"
    item allowed allowed_cpus
    item cpuset own_cpuset
    item cpuset-units cpuset_of /system.slice cpus
    item nodes-online cat "$nodes/online"
    item nodes values "$nodes"/node[0-9]*/distance
    item node-initiators node_initiators
    item node-cpus node_cpus
    item node-memory node_memory
    [ -n "$sysroot" ] || [ -d "$nodes" ] || item numactl numactl -H
    item node-allowed allowed_nodes
    item memory cat "$sysroot/proc/meminfo"
    item transparent-huge-pages cat "$sysroot/sys/kernel/mm/transparent_hugepage/enabled"
    item huge-pages values "$sysroot"/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages \
        "$sysroot"/sys/kernel/mm/hugepages/hugepages-*/free_hugepages
    item lscpu lscpu --sysroot "${sysroot:-/}"
}

# The threads of each core and the CPUs of each package. Kernels before 2.6.26 have masks only.
siblings() {
    set -- "$cpus"/cpu[0-9]*/topology/thread_siblings_list "$cpus"/cpu[0-9]*/topology/core_siblings_list
    [ -e "$1" ] || set -- "$cpus"/cpu[0-9]*/topology/thread_siblings "$cpus"/cpu[0-9]*/topology/core_siblings
    values "$@"
}

node_cpus() {
    set -- "$nodes"/node[0-9]*/cpulist
    [ -e "$1" ] || set -- "$nodes"/node[0-9]*/cpumap
    values "$@"
}

# The CPUs that a process we start may use by its affinity, which a cpuset of cgroups narrows already.
allowed_cpus() {
    if [ -n "$lab_allowed" ]; then
        printf '%s\n' "$lab_allowed"
    elif [ -e "$sysroot/proc/self/status" ]; then
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$sysroot/proc/self/status"
    else
        cat "$cpus/online"
    fi
}

# cpuset_of PATH KIND: the CPUs (cpus) or memory nodes (mems) of the cgroup PATH, or of the nearest above it that says, in
# any version of cgroups.
cpuset_of() {
    group=$1
    while :; do
        while read -r _ mount type options _; do
            case $type,$options, in
            cgroup2,*) first_file "$mount$group" "cpuset.$2.effective" && return ;;
            cpuset,* | cgroup,*,cpuset,*) first_file "$mount$group" "cpuset.effective_$2" "cpuset.$2" "$2" && return ;;
            esac
        done <"$sysroot/proc/mounts"
        [ -n "$group" ] || return 0
        group=${group%/*}
    done
}

own_cpuset() {
    read -r path <"$sysroot/proc/self/cpuset" 2>/dev/null || return 0
    cpuset_of "${path%/}" cpus
}

# The nodes whose memory a process we start may use.
allowed_nodes() {
    read -r path <"$sysroot/proc/self/cpuset" 2>/dev/null || return 0
    cpuset_of "${path%/}" mems
}

# first_file FOLDER NAME...: the first of the files that is there.
first_file() {
    folder=$sysroot$1
    shift
    for file in "$@"; do
        if [ -e "$folder/$file" ]; then
            cat "$folder/$file"
            return 0
        fi
    done
    return 1
}

# Whose memory a node without CPUs is, where the firmware says: `.../node4/access1/initiators/node1`.
node_initiators() {
    for link in "$nodes"/node[0-9]*/access[01]/initiators/node[0-9]*; do
        [ ! -e "$link" ] || printf '%s\n' "$link"
    done
}

node_memory() {
    set -- "$nodes"/node[0-9]*/meminfo
    [ ! -e "$1" ] || grep -a -h -E 'MemTotal|MemFree|HugePages_Total' "$@"
}
