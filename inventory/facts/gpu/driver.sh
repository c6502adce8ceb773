# shellcheck shell=sh
# What the kernel, its log and the dynamic linker say of GPU drivers: no vendor's tool is asked.
section_driver() {
    item parameters cat "$sysroot/proc/driver/nvidia/params"
    item modules loaded_modules
    item peers ls "$sysroot/sys/kernel/mm/memory_peers"
    item libraries linked_libraries
    item kernels installed_kernels
    item command-line cat /proc/cmdline
    item nvlsm grep -slx nvlsm /proc/[0-9]*/comm
    item amdgpu cat "$sysroot/sys/module/amdgpu/version"
    item rocm cat /opt/rocm/.info/version
    item nccl nccl_records
}

# A module that is built into the kernel has a folder too.
loaded_modules() {
    [ -d "$sysroot/sys/module" ] || {
        echo "$sysroot/sys/module: No such file or directory" >&2
        return 1
    }
    for module in nvidia nvidia_uvm nvidia_peermem nv_peer_mem gdrdrv mlx5_core mlx5_ib ib_umad ib_uverbs amdgpu; do
        [ ! -d "$sysroot/sys/module/$module" ] || printf '%s\n' "$module"
    done
}

# `ldconfig -p` of the driver's libraries, and behind each the file that it is a link to.
linked_libraries() {
    ldconfig -p >.ldconfig || return
    grep -E 'lib(cuda|nvidia-ml)\.so' .ldconfig | while read -r name rest; do
        printf '%s %s -> %s\n' "$name" "$rest" "$(readlink -f "${rest##*=> }")"
    done
}

# The kernels that can be booted, and those that have the nvidia module.
installed_kernels() {
    for kernel in /boot/vmlinuz-*; do
        [ ! -e "$kernel" ] || printf 'kernel %s\n' "${kernel##*/vmlinuz-}"
    done
    grep -sl '/nvidia\.ko' /lib/modules/*/modules.dep | sed -n 's,^/lib/modules/\([^/]*\)/.*,has \1,p'
}

# What the wheels of NCCL and NVSHMEM recorded when they were installed: nothing of hundreds of MB is read.
nccl_records() {
    set -- "$state_dir"/envs/*/lib/python3*/site-packages
    [ -e "$1" ] || return 0
    for packages in "$@"; do
        for record in "$packages"/nvidia_nccl_*.dist-info/RECORD "$packages"/nvidia_nvshmem_*.dist-info/RECORD; do
            [ ! -r "$record" ] || printf 'wheel %s\n' "$record"
        done
        library=$packages/nvidia/nccl/lib/libnccl.so.2
        [ ! -r "$library" ] || printf 'size %s %s\n' "$(wc -c <"$library")" "$library"
    done
    grep -s '^nvidia/nccl/lib/libnccl\.so\.2,' /dev/null "$state_dir"/envs/*/lib/python3*/site-packages/nvidia_nccl_*.dist-info/RECORD
    return 0
}

# Errors of GPUs in the kernel's log, newest last; the time before them is seconds since boot.
section_kernel_log() {
    item uptime cat /proc/uptime
    item errors gpu_errors
    item ooms oom_kills
}

# The log that `gpu_errors` found.
oom_kills() {
    [ -s .dmesg ] || return
    grep -E 'Killed process [0-9]+|oom-kill:' .dmesg | tail -n 40
    return 0
}

gpu_errors() {
    dmesg >.dmesg 2>.dmesg.err || kernel_journal || sudo_log || {
        cat .dmesg.err >&2
        return 1
    }
    grep -A 2 -E 'NVRM.*(Xid|fallen off)|NVRM: GPU at|fallen off the bus' .dmesg | tail -n 200
    return 0
}

# Without the right to read it, it is empty.
kernel_journal() {
    journalctl -q -k -b -o short-monotonic --no-pager >.dmesg 2>/dev/null && [ -s .dmesg ]
}

sudo_log() {
    # shellcheck disable=SC2024  # the file is ours
    sudo -n dmesg >.dmesg 2>/dev/null
}

# The bridges above GPUs, and their access control (ACS), which only root may read on most hosts.
section_bridges() {
    [ -n "$sysroot" ] || item paths gpu_paths
    [ -n "$sysroot" ] || item acs bridge_acs
}

gpu_paths() {
    set --
    for device in /sys/bus/pci/devices/*; do
        class=
        read -r class <"$device/class" || continue
        case $class in
        0x03* | 0x12*) set -- "$@" "$device" ;;
        esac
    done 2>/dev/null
    [ $# -eq 0 ] || readlink -f "$@"
}

bridge_acs() {
    lspci -D -vv -d ::0604 >.bridges || return
    grep -E '^[0-9a-f]|ACSCtl|access denied' .bridges
}

# gpu_owners PIDS: the processes with these ids (a file, one a line), those of vLLM, and all their ancestors.
gpu_owners() {
    ps -ww -eo pid=,ppid=,user:32=,lstart=,args= >.processes || return
    awk '
        FILENAME != ".processes" { wanted[$1] = 1; next }
        { parent[$1] = $2; line[$1] = substr($0, 1, 260) }
        /VLLM::|vllm[^ ]* +serve/ { wanted[$1] = 1 }
        END {
            for (pid in wanted)
                for (one = pid; one > 1 && (one in line) && !(one in told); one = parent[one]) {
                    told[one] = 1
                    print line[one]
                }
        }' "$1" .processes
}
