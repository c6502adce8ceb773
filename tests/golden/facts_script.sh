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

# section NAME SECONDS: start the section in a process of its own; it reports to descriptor 3 when it ends.
section() {
    sections="$sections $1"
    (
        "$keeper" "$1" "$2" 2>"$1.end.err"
        printf '%s\n' "$?" >"$1.end"
        echo "$1" >&3
    ) >/dev/null 2>&1 &
}

# timed NAME SECONDS: timeout(1) of coreutils makes a group and sends TERM to all of it, but KILL only if the shell itself
# is still there. What ignored TERM is killed here.
timed() {
    timeout -k 2 "$2" sh ./.sections "section_$1"
    kept=$?
    case $kept in
    124 | 137) read -r group <".$1.group" && kill -KILL "-$group" 2>/dev/null ;;
    esac
    return "$kept"
}

# watched NAME SECONDS: where there is no such timeout (busybox's ends one process, not the group).
watched() {
    # shellcheck disable=SC2086  # nothing or one word
    $leader sh ./.sections "section_$1" &
    watched_pid=$!
    (
        pause "$2"
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

sections=
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
# bash writes a here-document to a file first.
TMPDIR=$folder
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

# A tool that prints without end must not fill the memory of the host: 512-byte blocks, 16 MiB an item.
# bash counts in KiB: twice that.
ulimit -f 32768
page_number=0
lab_settings
section=${1#section_}
printf '%s\n' "$PPID" >".$section.group"

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

section_sudo() {
    item true sudo -n true
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

# Each call that can take seconds is a section of its own.
section_nvidia() {
    item version cat /proc/driver/nvidia/version
    item nodes ls /dev/nvidiactl /dev/nvidia0
    item xml nvidia_xml
    worked=$(sed -n '$s/^nvidia.xml //p' nvidia.status)
    [ "$worked" = 0 ] || [ "$worked" = 127 ] || nvidia_otherwise
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

section_nvidia_services() {
    item imex-nodes cat "$sysroot/etc/nvidia-imex/nodes_config.cfg"
    item imex-channels ls "$sysroot/dev/nvidia-caps-imex-channels"
    item container-toolkit nvidia-ctk --version
    item fabric-manager nv-fabricmanager --version
    item units nvidia_units
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

# RDMA devices as the kernel has them; no tool is needed.
section_rdma() {
    devices=$sysroot/sys/class/infiniband
    item devices values "$devices"/*/fw_ver "$devices"/*/hca_type "$devices"/*/board_id "$devices"/*/sys_image_guid \
        "$devices"/*/ports/*/state "$devices"/*/ports/*/phys_state "$devices"/*/ports/*/rate \
        "$devices"/*/ports/*/link_layer "$devices"/*/device/numa_node
    [ -n "$sysroot" ] || [ -d "$devices" ] || item ibstat ibstat
    item netdevs rdma_netdevs
    item gids values "$devices"/*/ports/*/gids/[0-9] "$devices"/*/ports/*/gids/1[0-5] \
        "$devices"/*/ports/*/gid_attrs/types/[0-9] "$devices"/*/ports/*/gid_attrs/types/1[0-5]
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
    wait
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
    item docker-runtimes docker info --format '{{json .Runtimes}}' &
    item podman podman version --format '{{.Client.Version}}'
    item docker docker version --format '{{.Server.Version}}'
    wait
}

# The files that describe devices to container engines.
cdi_specs() {
    for spec in /etc/cdi/* /var/run/cdi/*; do
        [ ! -f "$spec" ] || printf '%s\n' "$spec"
    done
}

# deployment_processes NAME GENERATION: the pids of every process of a deployment, one a line, none twice.
# Needs: state_dir. Zombies do not count: they hold neither port nor memory.
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
    read -r boot </proc/sys/kernel/random/boot_id
    case $leader in '' | *[!0-9]*) return 0 ;; esac
    [ "$booted" = "$boot" ] || return 0
    if [ -e "/proc/$leader/stat" ]; then
        [ "$(start_time "$leader")" = "$started" ] || return 0
    fi
    grep -h -s -E "^[0-9]+ \(.*\) [^ZX] -?[0-9]+ -?[0-9]+ $leader " /proc/[0-9]*/stat | sed 's/ .*//'
}

# start_time PID: field 22 of its stat, counted after the command's name, which may hold blanks and brackets.
start_time() {
    read -r stat_line <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086  # fields of numbers
    set -- ${stat_line##*) }
    printf '%s\n' "${20}"
} 2>/dev/null

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
    done
    item weights-folder ls -A "$state_dir/weights"
    for folder in "$state_dir"/weights/*/*/; do
        [ ! -d "$folder" ] || page weights "$folder" cat "${folder}.bringup-manifest.json"
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
    deployment_processes "$deployment_name" "$deployment_generation" | sed 's/^/process /'
}

# process_line PID: `leader STATE STARTTIME` of a process that is there (a zombie says Z).
process_line() {
    read -r line <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086  # the fields after the command's name, which may hold anything
    set -- ${line##*) }
    printf 'leader %s %s\n' "$1" "${20}"
}

"$1"
BRINGUP_END_OF_SECTIONS
section nvidia 20
section nvidia_topology 20
section nvidia_capability 20
section nvidia_services 20
section amd 20
section system 10
section processor 10
section pci 10
section network 10
section rdma 10
section listeners 10
section disks 10
section software 10
section containers 10
section sudo 10
section state 10
section deployments 10

# The end of the script that gathers facts: wait for the sections, then tell everything, framed.
# Needs: begin.sh, whole_seconds.
#
# The answer: a line `bringup-facts 1 MARK`, `wc -c` of every item, then each item after a line MARK, and MARK end.
# Both lengths and the random mark must fit: any bytes survive, and what was cut is noticed.
alarm "$whole_seconds" >/dev/null 2>&1 &
alarm_pid=$!

# shellcheck disable=SC2086  # names of ours, one word each
set -- $sections
while [ $# -gt 0 ]; do
    read -r ended <&3
    [ "$ended" != late ] || break
    shift
done
kill "$alarm_pid" 2>/dev/null

printf '%s\n%s\n' "$begun" "$(date +%s.%N)" >clock.out
printf '\n%s\n' "$mark" >.mark
set -- *
printf 'bringup-facts 1 %s\n' "$mark"
wc -c "$@"
for item in "$@"; do
    set -- "$@" .mark "$item"
    shift
done
cat "$@" .mark
printf 'end\n'
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
        /bin/sh "$PWD/.sections" context_report
}

# context_report: each part behind a line `@ NAME`. What touches devices comes last.
context_report() {
    part status context_status
    part limits cat /proc/self/limits
    part cgroup cat /proc/self/cgroup
    part cgroup-limits context_cgroup_limits
    part kernel values /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max
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

section context 10
