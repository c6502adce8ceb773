# shellcheck shell=sh
# What a rank would be given, read where it would be started: in a transient unit like the unit of a deployment, or in
# this session where there is no systemd that we may use.
section_context() {
    become_root=
    [ "$(id -u)" = 0 ] || become_root='sudo -n'
    # shellcheck disable=SC2086  # nothing or two words
    if [ -d /run/systemd/system ] && $become_root true 2>/dev/null; then
        item systemd-unit in_unit
    else
        item process-group context_report
    fi
}

# in_unit: the settings that decide what a process gets are those of the unit of a deployment.
in_unit() {
    # shellcheck disable=SC2086  # nothing or two words
    $become_root systemd-run --quiet --wait --pipe --collect --description='bringup looks at what a rank would get' \
        -p User="$(id -un)" -p WorkingDirectory="$PWD" -p KillMode=mixed -p RuntimeMaxSec=8 -p TimeoutStopSec=1 \
        -p LimitMEMLOCK=infinity -p LimitNOFILE=1048576 -p LimitCORE=0 -p TasksMax=infinity \
        /bin/sh -c '. ./.sections && context_report' sh context-unit
}

# context_report: each part behind a line `@ NAME`. What touches devices comes last.
context_report() {
    part status context_status
    part limits cat /proc/self/limits
    part cgroup cat /proc/self/cgroup
    part cgroup-limits context_cgroup_limits
    part kernel values /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max /proc/loadavg
    part shm df -P -k /dev/shm
    part shm-files context_shm_files
    part environment context_environment
    part engine-limits context_engine_limits
    part id id
    # A lab host's nodes and devices are those of the machine that carries it.
    [ -z "$sysroot" ] || return 0
    part mempolicy context_policy
    part numactl context_numactl
    part devices context_devices
}

part() {
    printf '@ %s\n' "$1"
    shift
    "$@" 2>/dev/null
}

context_status() {
    cpus=$sysroot/sys/devices/system/cpu
    printf 'Cpus_allowed_list:\t%s\n' "$(allowed_cpus)"
    grep -E '^CapEff:' /proc/self/status
    [ -n "$sysroot" ] || grep -E '^Mems_allowed_list:' /proc/self/status
}

# A limit of any group above holds too.
context_cgroup_limits() {
    set --
    while IFS=: read -r _ kinds group; do
        case ",$kinds," in
        ,,) kind=cgroup2 files='memory.max pids.max pids.current' ;;
        *,memory,*) kind=memory files=memory.limit_in_bytes ;;
        *,pids,*) kind=pids files='pids.max pids.current' ;;
        *) continue ;;
        esac
        while read -r _ mount type options _; do
            case $type,$options, in
            "$kind,"* | cgroup,*",$kind,"*) break ;;
            esac
            mount=
        done </proc/self/mounts
        [ -n "$mount" ] || continue
        group=${group%/}
        while :; do
            for file in $files; do set -- "$@" "$mount$group/$file"; done
            [ -n "$group" ] || break
            group=${group%/*}
        done
    done </proc/self/cgroup
    [ $# = 0 ] || values "$@"
}

# What engines leave when they are killed: `ls -ln` of each, then those that a process that we may look at has mapped.
context_shm_files() {
    set -- /dev/shm/nccl-* /dev/shm/psm_* /dev/shm/sem.mp-* /dev/shm/*vllm*
    found=
    for file in "$@"; do [ ! -f "$file" ] || found=yes; done
    [ -n "$found" ] || return 0
    # shellcheck disable=SC2012  # find of busybox prints no sizes
    ls -ln -- "$@" | head -n 200
    cat /proc/[0-9]*/maps | sed -n 's|.* \(/dev/shm/[^ ]*\).*|mapped \1|p' | sort -u | head -n 500
}

# Only the names that an engine or its libraries listen to; what opens a door is not told.
context_environment() {
    tr '\0\n' '\n ' <"/proc/$$/environ" | grep -a -E \
        '^((VLLM|NCCL|GLOO|UCX|CUDA|HIP|ROCR|ROCM|HSA|HF|HUGGINGFACE|TRANSFORMERS|OMP|MKL|PYTORCH|TRITON|NVIDIA|NVSHMEM|FLASHINFER)_[A-Za-z0-9_]*|TORCH[A-Z0-9_]*|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|TMPDIR|[A-Za-z]*_proxy|[A-Z]*_PROXY)=' |
        grep -v '^TMPDIR=.*/bringup-facts\.' |
        sed -E -e 's/^([A-Za-z0-9_]*(TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL)[A-Za-z0-9_]*)=.*/\1=***/' \
            -e 's|(://)[^/@]*@|\1***@|' | cut -c 1-400 | head -n 100
}

# A container gets what its engine's daemon has.
context_engine_limits() {
    read -r daemon </run/docker.pid && cat "/proc/$daemon/limits"
}

context_policy() {
    read -r _ policy _ <"/proc/$$/numa_maps" && printf '%s\n' "$policy"
}

context_numactl() {
    command -v numactl || { echo 'numactl: not found' && return; }
    for node in /sys/devices/system/node/node[0-9]*; do
        [ -n "$(cat "$node/cpulist")" ] || continue
        node=${node##*/node}
        numactl --cpunodebind="$node" --membind="$node" true >/dev/null
        bound=$?
        printf 'numactl --cpunodebind=%s --membind=%s true -> rc=%s\n' "$node" "$node" "$bound"
        [ "$bound" != 0 ] || continue
        numactl --cpunodebind="$node" true >/dev/null
        printf 'numactl --cpunodebind=%s true -> rc=%s\n' "$node" "$?"
    done
}

# A GPU itself is not opened: its driver would wake it up, and hang where it is broken. Whether we may is asked.
context_devices() {
    set --
    for device in /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-caps-imex-channels/channel* \
        /dev/infiniband/uverbs* /dev/dri/renderD* /dev/kfd; do
        [ -c "$device" ] || continue
        set -- "$@" "$device"
        case $device in
        /dev/nvidia[0-9]* | /dev/dri/*) [ -r "$device" ] && [ -w "$device" ] ;;
        *) (: <>"$device") ;;
        esac && echo "opens $device" || echo "denied $device"
    done 2>/dev/null
    [ $# = 0 ] || stat -c '%A %U %G %g %n' "$@"
}
