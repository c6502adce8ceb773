# shellcheck shell=sh
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
