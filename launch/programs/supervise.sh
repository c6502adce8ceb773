# shellcheck shell=sh
# Start, stop and look at the ranks of one deployment on one host.
# Needs: state_dir, deployment_processes.sh.

# deployment_state NAME: `GENERATION STATE`, or `absent` when no generation is current.
#   running  the recorded main process lives
#   partial  it is gone, others of the deployment are left
#   dead     all are gone, and nobody stopped them
#   stopped  nothing runs, nothing should
deployment_state() {
    ds_link=$state_dir/deployments/$1/current
    if ! ds_generation=$(readlink "$ds_link" 2>/dev/null); then
        printf 'absent\n'
        return
    fi
    ds_generation=${ds_generation##*/}
    if main_process "$ds_link/record" >/dev/null; then
        ds_state=running
    elif [ -n "$(deployment_processes "$1" "$ds_generation")" ]; then
        ds_state=partial
    elif [ -e "$ds_link/record" ]; then
        ds_state=dead
    else
        ds_state=stopped
    fi
    printf '%s %s\n' "$ds_generation" "$ds_state"
}

# main_process RECORD: its pid if it is alive and the recorded one.
main_process() {
    [ -r "$1" ] || return 1
    read -r mp_pid mp_started mp_booted <"$1"
    read -r mp_boot </proc/sys/kernel/random/boot_id
    [ "$mp_booted" = "$mp_boot" ] && [ -n "$mp_started" ] && [ "$(start_time "$mp_pid")" = "$mp_started" ] || return 1
    # A zombie has a start time too.
    case $(sed 's/.*) //' "/proc/$mp_pid/stat" 2>/dev/null) in Z* | X* | '') return 1 ;; esac
    printf '%s\n' "$mp_pid"
}

has_unit() { [ -d /run/systemd/system ] && [ -e "/etc/systemd/system/bringup-$1.service" ]; }

# as_root COMMAND...: services belong to root even where the ranks do not.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# start_deployment NAME: start the current generation; returns when its main process is on record.
start_deployment() {
    sd_dir=$state_dir/deployments/$1/$(readlink "$state_dir/deployments/$1/current")
    [ ! -e "$sd_dir/log" ] || mv -f "$sd_dir/log" "$sd_dir/log.1"
    rm -f "$sd_dir/record" "$sd_dir/kv-cache"
    if has_unit "$1"; then
        as_root systemctl daemon-reload
        as_root systemctl reset-failed "bringup-$1.service" 2>/dev/null || :
        as_root systemctl start "bringup-$1.service"
    else
        setsid /bin/sh "$sd_dir/command.sh" >"$sd_dir/log" 2>&1 </dev/null &
    fi
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
        [ ! -e "$sd_dir/record" ] || return 0
        sleep 0.2
    done
    printf 'no process is on record 5 s after the start\n' >&2
    tail -n 5 "$sd_dir/log" >&2 2>/dev/null
    return 1
}

# all_processes NAME: of every generation, so that nothing of an earlier one is overlooked.
all_processes() {
    for ap_dir in "$state_dir/deployments/$1"/*/; do
        ap_dir=${ap_dir%/}
        [ -L "$ap_dir" ] || deployment_processes "$1" "${ap_dir##*/}"
    done | sort -n -u
}

# wait_until_gone NAME SECONDS: true when no process is left in that time.
wait_until_gone() {
    wg_until=$(($(date +%s) + $2))
    while [ -n "$(all_processes "$1")" ]; do
        [ "$(date +%s)" -lt "$wg_until" ] || return 1
        sleep 0.2
    done
}

# stop_deployment NAME SECONDS: TERM to the main process and that long for its drain; what it leaves is swept.
stop_deployment() {
    if has_unit "$1"; then
        as_root systemctl stop "bringup-$1.service"
    else
        terminate_main "$1" "$2"
    fi
    wait_until_gone "$1" 2 || sweep "$1" TERM
    wait_until_gone "$1" 3 || sweep "$1" KILL
    wait_until_gone "$1" 5 || :
    rm -f "$state_dir/deployments/$1"/*/record
}

terminate_main() {
    for tm_record in "$state_dir/deployments/$1"/*/record; do
        tm_pid=$(main_process "$tm_record") || continue
        kill -TERM "$tm_pid"
        tm_until=$(($(date +%s) + $2))
        while main_process "$tm_record" >/dev/null && [ "$(date +%s)" -lt "$tm_until" ]; do
            sleep 0.2
        done
    done
}

sweep() {
    # shellcheck disable=SC2046  # pids
    kill "-$2" $(all_processes "$1") 2>/dev/null || :
}

# what_is_left NAME PORT...: one line for everything that a stopped deployment must not leave; nothing when it is clean.
what_is_left() {
    wl_name=$1
    shift
    for wl_pid in $(all_processes "$wl_name"); do
        printf 'process %s: %s\n' "$wl_pid" "$(tr '\0' ' ' <"/proc/$wl_pid/cmdline" 2>/dev/null | cut -c 1-120)"
    done
    if has_unit "$wl_name" && systemctl is-active --quiet "bringup-$wl_name.service"; then
        printf 'unit bringup-%s.service is active\n' "$wl_name"
    fi
    for wl_port in "$@"; do
        if listening_on "$wl_port"; then
            wl_pid=$(listener_of "$wl_port")
            printf 'port %s is still listened on, by process %s: %s\n' "$wl_port" "${wl_pid:-that cannot be seen}" \
                "$(tr '\0' ' ' <"/proc/${wl_pid:-none}/cmdline" 2>/dev/null | cut -c 1-120)"
        fi
    done
}

# listening_on PORT: from the kernel itself, because a bare host may lack ss. State 0A is LISTEN.
listening_on() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }'
}

# listener_of PORT: the pid of a process that listens on it, as far as we may see it.
listener_of() {
    lo_inode=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }')
    find /proc/[0-9]*/fd -lname "socket:\[$lo_inode\]" 2>/dev/null | head -n 1 | cut -d / -f 3
}

# look NAME OFFSET LIMIT: `STATE-LINE TAB SIZE-OF-LOG`, then the log's bytes behind OFFSET, at most LIMIT.
look() {
    lk_log=$state_dir/deployments/$1/current/log
    lk_size=$(wc -c <"$lk_log" 2>/dev/null || printf 0)
    printf '%s\t%s\n' "$(deployment_state "$1")" "$lk_size"
    [ "$lk_size" -le "$2" ] || tail -c "+$(($2 + 1))" "$lk_log" | head -c "$3"
}

# keep_cache_lines NAME LINE...: what the engines of this host logged of their KV cache, beside their log, which grows.
keep_cache_lines() {
    kc_dir=$state_dir/deployments/$1/current
    shift
    printf '%s\n' "$@" >"$kc_dir/kv-cache.partial" && mv -f "$kc_dir/kv-cache.partial" "$kc_dir/kv-cache"
}

# tell_deployments: for each deployment of this host five lines: its name, its state, the age in seconds of its log's last
# line (- without a log), its generation.json (one line), what its engines logged of their KV cache (tabs between them).
tell_deployments() {
    for td_link in "$state_dir/deployments"/*/current; do
        [ -L "$td_link" ] || continue
        td_name=${td_link%/current}
        td_name=${td_name##*/}
        td_age=-
        if [ -e "$td_link/log" ]; then td_age=$(($(date +%s) - $(stat -c %Y "$td_link/log"))); fi
        printf '%s\n%s\n%s\n%s\n%s\n' "$td_name" "$(deployment_state "$td_name")" "$td_age" \
            "$(head -n 1 "$td_link/generation.json" 2>/dev/null)" \
            "$(head -n 64 "$td_link/kv-cache" 2>/dev/null | tr '\n' '\t')"
    done
}
