whole_seconds=24
# The start of the script that gathers all facts of a host: a private folder, and how sections are started.
# Needs: whole_seconds. Runs in any POSIX shell on Linux; leaves nothing behind.
set -u
umask 077
LC_ALL=C
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin:/usr/lib/wsl/lib:${HOME:-/}/.local/bin"
export LC_ALL PATH
begun=$(date +%s.%N)

# private_folder: a new folder that only we can read and that takes data (a full disk does not).
# Memory first: a probe should neither need nor touch a disk.
private_folder() {
    for parent in /dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" "${TMPDIR:-/tmp}" /tmp /var/tmp "${HOME:-/}"; do
        made=$(mktemp -d "$parent/bringup-facts.XXXXXXXX" 2>/dev/null) || continue
        if echo probe 2>/dev/null >"$made/probe"; then
            rm -f "$made/probe"
            printf '%s\n' "$made"
            return 0
        fi
        rmdir "$made"
    done
    return 1
}

clean_up() {
    cd / && rm -rf -- "$folder"
}

# sections SECONDS NAME...: start the sections that have so many seconds: each in a process of its own, all under one keeper
# of the deadline, who ends those that are not done by then. Reports to descriptor 3 when all have ended.
sections() {
    started=$((started + 1))
    (
        "$keeper" "$@" 2>".$1.err"
        kept=$?
        seconds=$1
        shift
        for name in "$@"; do
            [ -s "$name.end" ] && continue
            printf '%s\n' "$kept" >"$name.end"
            cat ".$seconds.err" >>"$name.end.err"
        done
        echo ended >&3
    ) >/dev/null 2>&1 &
}

# timed SECONDS NAME...: timeout(1) of coreutils makes a group and sends TERM to all of it, but KILL only if the shell
# itself is still there. What ignored TERM is killed here.
timed() {
    timeout -k 2 "$1" sh ./.sections "$@"
    kept=$?
    case $kept in
    124 | 137) read -r group <".$1.group" && kill -KILL "-$group" 2>/dev/null ;;
    esac
    return "$kept"
}

# watched SECONDS NAME...: where there is no such timeout (busybox's ends one process, not the group).
watched() {
    # shellcheck disable=SC2086  # nothing or one word
    $leader sh ./.sections "$@" &
    watched_pid=$!
    (
        pause "$1"
        kill -TERM "-$watched_pid" || kill -TERM "$watched_pid"
        sleep 2
        kill -KILL "-$watched_pid" || kill -KILL "$watched_pid"
    ) >/dev/null 2>&1 &
    guard=$!
    wait "$watched_pid"
    kept=$?
    if [ "$kept" = 143 ]; then
        kept=124
        kill -KILL "-$watched_pid" 2>/dev/null
    fi
    kill "$guard" 2>/dev/null
    return "$kept"
}

# alarm SECONDS: say `late` on descriptor 3 then. A process that sits in the kernel (a GPU driver, a dead NFS
# server) outlives even SIGKILL and makes `timeout` wait for it: the whole must not.
alarm() {
    pause "$1"
    echo late >&3
}

# pause SECONDS: in short steps, so that killing who waits leaves nothing behind for longer than a second.
pause() {
    left=$1
    while [ "$left" -gt 0 ]; do
        sleep 1
        left=$((left - 1))
    done
}

started=0
if ! folder=$(private_folder); then
    echo 'no folder takes a temporary file: tried /dev/shm, XDG_RUNTIME_DIR, TMPDIR, /tmp, /var/tmp and HOME' >&2
    exit 74
fi
case $(timeout --version 2>/dev/null) in
*coreutils*) keeper=timed ;;
*) keeper=watched ;;
esac
leader=
! command -v setsid >/dev/null 2>&1 || leader=setsid
trap clean_up EXIT
trap 'exit 129' HUP INT TERM
cd "$folder" || exit 74
# bash writes a here-document to a file first, and tools that are killed leave their own behind.
mkdir .tmp && TMPDIR=$folder/.tmp
export TMPDIR
mkfifo .ended && exec 3<>.ended
read -r mark </proc/sys/kernel/random/uuid

cat >.sections <<'BRINGUP_END_OF_SECTIONS'
state_dir=/var/lib/bringup
asked_paths() {
    "$1" /var/lib/bringup
    "$1" '/raid/it'"'"'s models'
    "$1" /tmp
    "$1" /dev/shm
}

asked_addresses() {
    "$1" 192.0.2.2
    "$1" tray2.example
}

weights_program='# ruff: noqa: INP001  (sent as text)
"""Which safetensors files are shorter or longer than their own header says, and which shards of an index are not there.

Prints a line "damaged PATH: WHAT" for each, and "checked N" at the end. Runs on hosts, in any Python from 3.7 on.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path

MOST = 100_000_000  # bytes of a header, as the format allows


def fault(path: Path) -> str | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            return f"{size} bytes, which is less than any header"
        length = struct.unpack("<Q", start)[0]
        if length > MOST or 8 + length > size:
            return f"{size} bytes, and its header alone should be {length + 8}"
        header = json.loads(file.read(length))
    ends = [value["data_offsets"][1] for key, value in header.items() if key != "__metadata__"]
    wanted = 8 + length + max(ends or [0])
    return None if size == wanted else f"{size} bytes, and its header tells of {wanted}"


def missing(path: Path) -> str | None:
    named = set(json.loads(path.read_bytes())["weight_map"].values())
    gone = sorted(name for name in named if not (path.parent / name).exists())
    return f"{gone[0]} is not there, and {len(gone) - 1} more" if gone else None


def said_of(path: Path) -> str | None:
    try:
        return fault(path) if path.suffix == ".safetensors" else missing(path)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return f"cannot be read: {str(error)[:80]}"


def main() -> None:
    checked = 0
    for folder, folders, names in os.walk(sys.argv[1], followlinks=True):
        folders[:] = [name for name in folders if name != ".cache"]
        for name in sorted(names):
            if name.endswith((".safetensors", ".safetensors.index.json")):
                checked += 1
                what = said_of(Path(folder, name))
                sys.stdout.write(f"damaged {folder}/{name}: {what}\n" if what else "")
                sys.stdout.flush()
    sys.stdout.write(f"checked {checked}\n")


main()
'
# What every section is made of. Sections run in the private folder of begin.sh.

# item NAME COMMAND...: keep its stdout, stderr and exit status for the answer.
item() {
    item_name=$section.$1
    shift
    "$@" >"$item_name.out" 2>"$item_name.err"
    printf '%s %s\n' "$item_name" "$?" >>"$section.status"
}

# page NAME KEY COMMAND...: the next of several items of one kind; its first line is KEY.
page() {
    page_number=$((page_number + 1))
    page_name=$1.$page_number
    page_key=$2
    shift 2
    item "$page_name" keyed "$page_key" "$@"
}

keyed() {
    printf '%s\n' "$1"
    shift
    "$@"
}

# values FILE...: every line of those that can be read, as `path:line`. Not the shell's own `read`: dash takes one byte at
# a time, which CPU lists of the kernel do not allow.
values() {
    grep -a -s '' /dev/null "$@" || true
}

# A lab host says so in /etc/bringup-lab and has its own hardware tree; elsewhere $sysroot is empty.
lab_settings() {
    sysroot=
    lab_allowed=
    [ -r /etc/bringup-lab ] || return 0
    while IFS='=' read -r key value; do
        case $key in
        sysroot) sysroot=$value ;;
        allowed) lab_allowed=$value ;;
        esac
    done </etc/bringup-lab
}

# all_sections NAME...: each beside the others, with its exit status in NAME.end, last.
all_sections() {
    for section in "$@"; do
        (
            ("section_$section") 2>"$section.end.err"
            printf '%s\n' "$?" >"$section.end"
        ) &
    done
    wait
}

# A tool that prints without end must not fill the memory of the host: 512-byte blocks, 16 MiB an item.
# bash counts in KiB: twice that.
ulimit -f 32768
page_number=0
lab_settings
printf '%s\n' "$PPID" >".$1.group"

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

# Each call that can take seconds is a section of its own.
section_nvidia() {
    item version cat "$sysroot/proc/driver/nvidia/version"
    item nodes ls /dev/nvidiactl /dev/nvidia0
    item xml nvidia_xml
    worked=$(sed -n '$s/^nvidia.xml //p' nvidia.status)
    [ "$worked" = 0 ] || [ "$worked" = 127 ] || nvidia_otherwise
    sed -n 's,.*<pid>\([0-9]*\)</pid>.*,\1,p' .nvidia.xml >.gpu-pids
    [ "$worked" = 127 ] || item owners gpu_owners .gpu-pids
}

# Without its longest part: hundreds of clock rates a GPU.
nvidia_xml() {
    nvidia-smi -q -x >.nvidia.xml
    nvidia_status=$?
    grep -v supported_graphics_clock .nvidia.xml
    return "$nvidia_status"
}

# Old drivers and cut-down builds have no XML; a broken one tells more in its other answers.
nvidia_otherwise() {
    item text nvidia-smi -q
    item csv nvidia-smi --query-gpu=index,name,uuid,memory.total,pci.bus_id,driver_version --format=csv
    item table nvidia-smi
    item list nvidia-smi -L
    item kernel nvidia_kernel_log
}

nvidia_kernel_log() {
    dmesg | grep -A 2 -E 'NVRM|Xid' | tail -n 40
}

section_nvidia_capability() {
    item csv nvidia-smi --query-gpu=pci.bus_id,compute_cap --format=csv
}

section_nvidia_topology() {
    item matrix nvidia-smi topo -m
}

section_nvidia_links() {
    item errors nvidia-smi nvlink -e
}

# The whole domain as this host sees it; the service must take commands (IMEX_CMD_ENABLED).
section_nvidia_imex() {
    item domain nvidia-imex-ctl -N
}

section_nvidia_services() {
    item imex-nodes cat "$sysroot/etc/nvidia-imex/nodes_config.cfg"
    item imex-channels ls "$sysroot/dev/nvidia-caps-imex-channels"
    item container-toolkit nvidia-ctk --version
    item fabric-manager nv-fabricmanager --version
    item units nvidia_units
    item devices grep -a imex "$sysroot/proc/devices"
    case $(cat nvidia_services.units.out) in
    *ActiveState=failed*) item manager-log journalctl -q -u nvidia-fabricmanager -b -o cat -n 40 --no-pager ;;
    esac
}

# Nothing where systemd is not PID 1.
nvidia_units() {
    [ ! -d /run/systemd/system ] ||
        systemctl show -p Id,LoadState,ActiveState nvidia-fabricmanager.service nvidia-imex.service
}

section_amd() {
    item node ls /dev/kfd
    item list amd-smi list --json
    item static amd-smi static --json
    item process amd-smi process --json
    amd_status=$(sed -n 's/^amd.static //p' amd.status)
    [ "$amd_status" = 0 ] || amd_otherwise
    item kfd kfd_nodes
    sed -n 's/.*"pid": *"*\([0-9]*\).*/\1/p' amd.process.out >.gpu-pids
    [ "$amd_status" = 127 ] || item owners gpu_owners .gpu-pids
}

# Older tools have no JSON, or break while they write it.
amd_otherwise() {
    [ "$amd_status" = 127 ] || item static-text amd-smi static
    item rocm rocm-smi --showproductname --showuniqueid --showbus --showmeminfo vram \
        --showtoponuma --showdriverversion --json
    rocm_status=$(sed -n '$s/^amd.rocm //p' amd.status)
    case $rocm_status in
    0 | 127) ;;
    *) item rocm-text rocm-smi --showproductname --showbus --showmeminfo vram --showtoponuma --showdriverversion ;;
    esac
}

# The kernel's own list of compute nodes: no tool and no rights needed.
kfd_nodes() {
    kfd=$sysroot/sys/class/kfd/kfd/topology/nodes
    [ -d "$kfd" ] || {
        echo "$kfd: No such file or directory" >&2
        return 1
    }
    grep -s . /dev/null "$kfd"/*/gpu_id "$kfd"/*/name "$kfd"/*/properties "$kfd"/*/mem_banks/*/properties \
        "$kfd"/*/io_links/*/properties
}

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

# Every path is looked at beside the others: one on a dead NFS server costs only itself (and this section's time).
section_disks() {
    item mounts cat /proc/self/mountinfo
    item asked asked_paths line_of
    item blocks block_devices &
    disk_number=0
    asked_paths look_at
    wait
}

# JSON is unknown to lsblk before 2.27.
block_devices() {
    lsblk -J -b -o NAME,TYPE,SIZE,ROTA,FSTYPE,MOUNTPOINT || lsblk -P -b -o NAME,TYPE,SIZE,ROTA,FSTYPE,MOUNTPOINT,PKNAME
}

line_of() {
    printf '%s\n' "$1"
}

look_at() {
    disk_number=$((disk_number + 1))
    item "path.$disk_number" keyed "$1" disk_of "$1" &
}

# disk_of PATH: what holds PATH, or would: its deepest folder that exists.
disk_of() {
    existing=$1
    while [ -n "$existing" ] && [ ! -e "$existing" ]; do
        existing=${existing%/*}
    done
    existing=${existing:-/}
    if [ -w "$existing" ]; then writable=yes; else writable=no; fi
    printf '%s\n%s\n' "$existing" "$writable"
    df -P -k "$existing"
    df -P -i "$existing" 2>/dev/null || true
}

section_software() {
    item pip python3 -c 'import pip; print("pip", pip.__version__)' &
    item systemd systemctl --version
    item systemd-state systemd_state
    item python python3 --version
    item uv uv --version
    item compilers compilers
    wait
}

# What builds kernels when a rank starts.
compilers() {
    PATH="$PATH:/usr/local/cuda/bin"
    for compiler in nvcc hipcc cc c++ ninja; do
        command -v "$compiler" || true
    done
}

# systemd_state: `running`, `degraded`, ... only where systemd is PID 1.
systemd_state() {
    if [ -d /run/systemd/system ]; then
        systemctl is-system-running || true
    else
        echo offline
    fi
}

# A container service that hangs must not hide the rest.
section_containers() {
    item cdi cdi_specs
    item podman podman version --format '{{.Client.Version}}'
}

# The files that describe devices to container engines.
cdi_specs() {
    for spec in /etc/cdi/* /var/run/cdi/*; do
        [ ! -f "$spec" ] || printf '%s\n' "$spec"
    done
}

# Who a process is, for ever: pid, start time and boot id, one line in a file, its record. A pid alone is given again.

# start_time PID: field 22 of its stat, counted after the command's name, which may hold blanks and brackets.
start_time() {
    read -r stat_line <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086  # fields of numbers
    set -- ${stat_line##*) }
    printf '%s\n' "${20}"
} 2>/dev/null

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# identity PID: the line that goes on record.
identity() { printf '%s %s %s\n' "$1" "$(start_time "$1")" "$(boot_id)"; }

# recorded_alive FILE: whether the process on record lives; `$pid` is its own then.
recorded_alive() {
    [ -r "$1" ] && read -r pid started booted <"$1" || return 1
    [ "$booted" = "$(boot_id)" ] && [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] || return 1
    ! is_over "$pid"
}

# is_over PID: it is gone, or a zombie, which has a start time and nothing else.
is_over() {
    case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in Z* | X* | '') ;; *) return 1 ;; esac
}

# deployment_processes NAME GENERATION: the pids of every process of a deployment, one a line, none twice.
# Needs: state_dir, process.sh. Zombies do not count: they hold neither port nor memory.
#
# Three ways, because each alone misses some: the environment (vLLM's processes rename themselves, which destroys it, and
# another user's cannot be read), the session of the recorded process, and the control group of the unit.
deployment_processes() {
    {
        processes_by_environment "$state_dir/deployments/$1/$2"
        processes_by_session "$state_dir/deployments/$1/$2/record"
        processes_by_unit "$1"
    } | sort -n -u
}

processes_by_environment() {
    # shellcheck disable=SC2013  # paths of ours without blanks
    for environ in $(grep -l -s -F "BRINGUP_DEPLOYMENT=$1" /proc/[0-9]*/environ); do
        # grep found a part: generation 12 is not generation 1.
        if tr '\0' '\n' <"$environ" | grep -q -x -F "BRINGUP_DEPLOYMENT=$1"; then
            environ=${environ#/proc/}
            printf '%s\n' "${environ%/environ}"
        fi
    done 2>/dev/null
}

# The recorded process leads its session, and the kernel gives its pid to no other while the session has members:
# only another boot, or the same pid with another start time, makes the record stale.
processes_by_session() {
    [ -r "$1" ] || return 0
    read -r leader started booted <"$1" || [ -n "$booted" ] || return 0
    case $leader in '' | *[!0-9]*) return 0 ;; esac
    [ "$booted" = "$(boot_id)" ] || return 0
    if [ -e "/proc/$leader/stat" ]; then
        [ "$(start_time "$leader")" = "$started" ] || return 0
    fi
    grep -h -s -E "^[0-9]+ \(.*\) [^ZX] -?[0-9]+ -?[0-9]+ $leader " /proc/[0-9]*/stat | sed 's/ .*//'
}

processes_by_unit() {
    [ -d /run/systemd/system ] || return 0
    group=$(systemctl show "bringup-$1.service" -p ControlGroup 2>/dev/null)
    group=${group#ControlGroup=}
    case $group in /?*) ;; *) return 0 ;; esac
    for mount in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
        [ ! -d "$mount$group" ] || find "$mount$group" -name cgroup.procs -exec cat {} + 2>/dev/null
    done
}

# What bringup itself left on the host, below $state_dir.
# `ls` tells a folder that is not there from one that we may not read.
section_state() {
    item environments-folder ls -A "$state_dir/envs"
    for folder in "$state_dir"/envs/*/; do
        [ ! -d "$folder" ] || page environment "$folder" cat "${folder}bringup-env.json"
        [ ! -d "$folder" ] || page packages "$folder" installed "$folder"
    done
    item weights-folder ls -A "$state_dir/weights"
    for folder in "$state_dir"/weights/*/*/; do
        [ ! -d "$folder" ] || page weights "$folder" cat "${folder}.bringup-manifest.json"
    done
}

# installed FOLDER/: `python 3.12`, and `name-version` of every distribution. No program is started for it.
installed() {
    for library in "$1"lib/python3.*/site-packages; do
        [ -d "$library" ] || continue
        python=${library%/site-packages}
        printf 'python %s\n' "${python##*/python}"
        for distribution in "$library"/*.dist-info; do
            distribution=${distribution##*/}
            printf '%s\n' "${distribution%.dist-info}"
        done
    done
}

section_deployments() {
    item folder ls -A "$state_dir/deployments"
    item boot cat /proc/sys/kernel/random/boot_id
    for current in "$state_dir"/deployments/*/current; do
        [ -L "$current" ] || continue
        page_number=$((page_number + 1))
        item "generation.$page_number" cat "$current/generation.json"
        item "report.$page_number" deployment_report "$current"
    done
}

# deployment_report LINK: one fact a line, the kind first. What it means is decided by the reader.
deployment_report() {
    deployment_folder=${1%/current}
    deployment_name=${deployment_folder##*/}
    deployment_generation=$(readlink "$1")
    deployment_generation=${deployment_generation##*/}
    printf 'name %s\ngeneration %s\n' "$deployment_name" "$deployment_generation"
    if read -r record <"$1/record"; then
        printf 'record %s\n' "$record"
        process_line "${record%% *}"
    fi 2>/dev/null
    [ ! -d /run/systemd/system ] || systemctl show "bringup-$deployment_name.service" \
        -p LoadState,ActiveState,SubState,MainPID,ControlGroup | sed 's/^/unit /'
    deployment_processes "$deployment_name" "$deployment_generation" | while read -r pid; do
        printf 'process %s\n' "$pid"
        cgroup_of "$pid"
    done
    processes_by_session "$1/guard-record" | sed 's/^/guard /'
}

# cgroup_of PID: `cgroup PID PATH`, of version 2 or of systemd's own hierarchy.
cgroup_of() {
    while read -r line; do
        case $line in 0::* | *:name=systemd:*) printf 'cgroup %s %s\n' "$1" "${line#*:*:}" ;; esac
    done <"/proc/$1/cgroup"
} 2>/dev/null

# process_line PID: `leader STATE STARTTIME` of a process that is there (a zombie says Z).
process_line() {
    read -r line <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086  # the fields after the command's name, which may hold anything
    set -- ${line##*) }
    printf 'leader %s %s\n' "$1" "${20}"
}

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

# What names lead to here. A name server that hangs costs this section only.
section_names() {
    item own getent ahosts "$(uname -n)"
    item hosts-file own_lines
    item proxies proxies
    item installers installers
    item hub-token hub_token
    asked_addresses name_of
}

own_lines() {
    grep -w -F -e "$(uname -n)" /etc/hosts || true
}

# Without names and passwords.
proxies() {
    env | grep -i -E '^(https?|all|no)_proxy=' | sed 's,://[^/@]*@,://,'
}

installers() {
    env | grep -E '^(PIP|UV)_' | sed 's,://[^/@]*@,://,g'
}

# Whether the hub's client would find a token, never which.
hub_token() {
    [ -z "${HF_TOKEN:-}${HUGGING_FACE_HUB_TOKEN:-}" ] || echo variable
    [ ! -s "${HF_TOKEN_PATH:-${HF_HOME:-${HOME:-}/.cache/huggingface}/token}" ] || echo file
}

# name_of NAME: one page for a name, nothing for an address.
name_of() {
    case $1 in
    *:*) ;;
    *[!0-9.]*) page name "$1" getent ahosts "$1" ;;
    esac
}

# What lies in the folders of weights. A file server that hangs costs this section only.
# Needs: state_dir, weights_program.
section_weights() {
    item now date +%s
    item locks lock_files
    item held cat /proc/locks
    weights_folders=0
    for folder in "$state_dir"/weights/*/*/; do
        [ -d "$folder" ] || continue
        folder=${folder%/}
        weights_folders=$((weights_folders + 1))
        page files "$folder" weight_files "$folder"
        page links "$folder" links_of "$folder"
        page unreadable "$folder" unreadable_files "$folder"
        page pointers "$folder" lfs_pointers "$folder"
    done
    [ "$weights_folders" = 0 ] || headers
}

weight_files() {
    find -L "$1" -type f -exec stat -L -c '%s %n' {} + | head -n 20000
}

# A link, and where it leads to: `link -> target`.
links_of() {
    # shellcheck disable=SC2016  # for the other shell
    find "$1" -type l -exec sh -c 'for link; do printf "%s -> %s\n" "$link" "$(readlink -f "$link")"; done' sh {} + |
        head -n 2000
}

# Links that lead nowhere are not readable either.
unreadable_files() {
    # shellcheck disable=SC2016  # for the other shell
    find "$1" ! -type d -exec sh -c 'for file; do [ -r "$file" ] || printf "%s\n" "$file"; done' sh {} + | head -n 200
}

# What `git clone` leaves without LFS: a few lines of text where weights should be.
lfs_pointers() {
    find -L "$1" -type f -size -4 ! -name '*.json' ! -path '*/.cache/*' \
        -exec grep -l -a -e '^version https://git-lfs' {} + | head -n 200
}

# `inode age-in-seconds-since-1970 size path`
lock_files() {
    set -- "$state_dir/weights" "$state_dir/caches"
    [ -d "$1" ] || shift
    [ -d "${2:-$1}" ] || set -- "$1"
    [ -d "$1" ] || return 0
    find "$@" -type f \( -name '*.lock' -o -name lock -o -name '*.incomplete' \) -exec stat -c '%i %Y %s %n' {} + |
        head -n 500
}

# The length that each header tells, in the first Python that runs.
headers() {
    for python in "$state_dir"/envs/*/bin/python python3; do
        if "$python" -I -S -B -c 'import json' 2>/dev/null; then
            item headers "$python" -I -S -B -c "$weights_program" "$state_dir/weights"
            return
        fi
    done
}

# What ranks have compiled and tuned on this host. Needs: state_dir.
section_caches() {
    item folder ls -A "$state_dir/caches"
    item stamp cat "$state_dir/caches/.bringup-stamp.json"
    item artefacts rank_files
    for stamped in "$state_dir"/caches/*/.bringup-stamp.json; do
        [ ! -e "$stamped" ] || page stamps "${stamped%/*}" cat "$stamped"
    done
    item memory kept_memory
}

# What earlier starts measured of the memory for their KV caches, a line of JSON each.
kept_memory() {
    for kept in "$state_dir"/caches/.kv-memory/*.json; do
        [ ! -e "$kept" ] || head -n 1 "$kept"
    done | tail -n 200
}

# Files that belong to one rank each, and one file to see whether anything is there at all.
rank_files() {
    # In a shell of its own: the folder of this one holds the answer.
    (
        cd "$state_dir/caches" || exit
        find . -path './.*' -prune -o -type f ! -name '.bringup*' -print | head -n 1 | sed 's/^/any /'
        find . -path './.*' -prune -o \( -type f -name '*dp[0-9]*_rank[0-9]*' -o \
            -path '*/torch_aot_compile/*/rank_*/model' \) -print | head -n 5000
    )
}

# What docker holds and runs, as the login user may see it.
section_docker() {
    item info docker info --format '{{json .}}'
    [ "$(cat docker.status)" = 'docker.info 0' ] || return
    item root docker_root
    item images docker_images &
    item containers docker_containers &
    wait
}

# Where images lie, and what that lies on.
docker_root() {
    docker_folder=$(sed -n 's/.*"DockerRootDir":"\([^"]*\)".*/\1/p' docker.info.out)
    [ -n "$docker_folder" ] || return
    keyed "$docker_folder" disk_of "$docker_folder"
}

# One JSON object a line. Environments are left out: they may hold secrets.
docker_images() {
    docker image ls --quiet --no-trunc | sort -u | head -n 60 | xargs -r docker image inspect --format \
        '{"Id":{{json .Id}},"RepoTags":{{json .RepoTags}},"RepoDigests":{{json .RepoDigests}},"RootFS":{{json .RootFS}},"Os":{{json .Os}},"Architecture":{{json .Architecture}},"Size":{{json .Size}}}'
}

# Of the command the first words alone: later ones may be a key.
docker_containers() {
    # shellcheck disable=SC2016  # variables of docker's own templates
    docker ps --quiet --no-trunc | head -n 60 | xargs -r docker container inspect --format \
        '{"Name":{{json .Name}},"Image":{{json .Config.Image}},"StopTimeout":{{json .Config.StopTimeout}},"Path":{{json .Path}},"Args":[{{range $at, $word := .Args}}{{if lt $at 3}}{{if $at}},{{end}}{{json $word}}{{end}}{{end}}],"Pid":{{json .State.Pid}},"Devices":{{json .HostConfig.Devices}}}'
}

shift
all_sections "$@"
BRINGUP_END_OF_SECTIONS
sections 20 nvidia nvidia_topology nvidia_capability nvidia_services nvidia_links nvidia_imex amd driver kernel_log bridges weights
sections 10 system processor pci network rdma listeners disks software containers sudo state deployments context host sessions sshd upkeep toolchain names caches docker

# The end of the script that gathers facts: wait for the sections, then tell everything, framed.
# Needs: begin.sh, whole_seconds.
#
# The answer: a line `bringup-facts 1 MARK`, `wc -c` of every item, then each item after a line MARK, and MARK end.
# Both lengths and the random mark must fit: any bytes survive, and what was cut is noticed.
alarm "$whole_seconds" >/dev/null 2>&1 &
alarm_pid=$!

while [ "$started" -gt 0 ]; do
    read -r ended <&3
    [ "$ended" != late ] || break
    started=$((started - 1))
done
kill "$alarm_pid" 2>/dev/null

printf '%s\n%s\n' "$begun" "$(date +%s.%N)" >clock.out
printf '\n%s\n' "$mark" >.mark
set -- *.out *.err *.end *.status
{
    printf 'bringup-facts 1 %s\n' "$mark"
    wc -c "$@"
    for item in "$@"; do
        set -- "$@" .mark "$item"
        shift
    done
    cat "$@" .mark
    printf 'end\n'
} | dd obs=65536 2>/dev/null # else every item is a packet of its own, to be encrypted here and decrypted there
