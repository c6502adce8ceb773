# shellcheck shell=sh
# Start, stop and look at the ranks of one deployment on one host.
# Needs: state_dir, process.sh, deployment_processes.sh.

# deployment_state NAME: `GENERATION STATE`, or `absent` when no generation is current.
#   running  the recorded main process lives, and all that were there when it was ready
#   partial  one of them is gone, others of the deployment are left
#   dead     all are gone, and nobody stopped them
#   stopped  nothing runs, nothing should
deployment_state() {
    ds_link=$state_dir/deployments/$1/current
    if ! ds_generation=$(readlink "$ds_link" 2>/dev/null); then
        printf 'absent\n'
        return
    fi
    ds_generation=${ds_generation##*/}
    if main_process "$ds_link/record" >/dev/null && all_of_roster "$ds_link/roster"; then
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

# all_of_roster FILE: whether every process that was there when the ranks were ready still is: a coordinator that died is
# missed by no health check, and by no completion for a while. True without a roster: they are not ready yet.
all_of_roster() {
    [ -r "$1" ] || return 0
    while read -r ar_pid ar_started; do
        [ "$(start_time "$ar_pid")" = "$ar_started" ] && ! is_over "$ar_pid" || return 1
    done <"$1"
}

# roster NAME: pid and start time of the engine's own processes, which vLLM names; helpers of Python come and go.
# A coordinator that the log tells of and that is gone already is on it too, as one that cannot be there; where nothing has
# a name (another prefix, no setproctitle) nobody can say so.
roster() {
    ro_named='' ro_coordinator=''
    for ro_pid in $(all_processes "$1"); do
        ro_name=$(cat "/proc/$ro_pid/comm" 2>/dev/null)
        case $ro_name in VLLM::*) ro_named=1 && printf '%s %s\n' "$ro_pid" "$(start_time "$ro_pid")" ;; esac
        case $ro_name in VLLM::DPCoordin*) ro_coordinator=1 ;; esac
    done
    if [ -n "$ro_named" ] && [ -z "$ro_coordinator" ]; then
        ! grep -q -s -F 'Started DP Coordinator process' "$state_dir/deployments/$1/current/log" || printf '0 gone\n'
    fi
}

# main_process RECORD: its pid if it is alive and the recorded one.
main_process() { recorded_alive "$1" && printf '%s\n' "$pid"; }

has_unit() { [ -d /run/systemd/system ] && [ -e "/etc/systemd/system/bringup-$1.service" ]; }

# as_root COMMAND...: services belong to root even where the ranks do not.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

# start_deployment NAME: start the current generation; returns when its main process is on record.
start_deployment() {
    sd_dir=$state_dir/deployments/$1/$(readlink "$state_dir/deployments/$1/current")
    [ ! -e "$sd_dir/log" ] || mv -f "$sd_dir/log" "$sd_dir/log.1"
    rm -f "$sd_dir/record" "$sd_dir/kv-cache" "$sd_dir/roster" "$sd_dir/unit-ended"
    take_caches "$1"
    sd_pid=
    if has_unit "$1"; then
        as_root systemctl daemon-reload
        as_root systemctl reset-failed "bringup-$1.service" 2>/dev/null || :
        as_root systemctl start "bringup-$1.service"
    else
        setsid /bin/sh "$sd_dir/command.sh" >"$sd_dir/log" 2>&1 </dev/null &
        sd_pid=$!
    fi
    sd_until=$(($(date +%s) + 25)) sd_ended=0
    while [ "$(date +%s)" -lt "$sd_until" ]; do
        if [ -e "$sd_dir/record" ]; then
            [ -n "${keep_guard:-}" ] || start_guard "$1"
            return 0
        fi
        # Without a unit the shell that writes the record is our child: when it has ended, no record will come.
        [ "$sd_ended" = 0 ] || break
        [ -z "$sd_pid" ] || kill -0 "$sd_pid" 2>/dev/null || sd_ended=1
        sleep 0.2
    done
    printf 'no process came on record: waited %s s of 25\n' $((25 - sd_until + $(date +%s))) >&2
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
# Remembers what they had, for what_is_left.
stop_deployment() {
    [ -n "${keep_guard:-}" ] || stop_guard "$1"
    sp_before=$(all_processes "$1")
    # shellcheck disable=SC2086  # pids
    sp_shared=$(shared_memory_of $sp_before; cat "$state_dir/deployments/$1"/*/shared-memory 2>/dev/null)
    if has_unit "$1"; then
        as_root systemctl stop "bringup-$1.service"
    else
        terminate_main "$1" "$2"
    fi
    wait_until_gone "$1" 2 || sweep "$1" TERM
    wait_until_gone "$1" 3 || sweep "$1" KILL
    wait_until_gone "$1" 5 || :
    rm -f "$state_dir/deployments/$1"/*/record "$state_dir/deployments/$1"/*/roster
    free_shared_memory "$1"
}

# stop_and_prove NAME SECONDS PORT...: stop it and print what is left; where nothing is, none of its units stays failed.
stop_and_prove() {
    sv_name=$1 sv_seconds=$2
    shift 2
    stop_deployment "$sv_name" "$sv_seconds"
    sv_left=$(set +e; what_is_left "$sv_name" "$@")
    if [ -n "$sv_left" ]; then printf '%s\n' "$sv_left"; else settle_units "$sv_name"; fi
}

# settle_units NAME: ranks that end with an error when they are told to stop leave a failed unit, which whoever watches the
# host takes for a failure. Those of this deployment alone; the guard's is settled where it is removed.
settle_units() {
    if has_unit "$1" && systemctl is-failed --quiet "bringup-$1.service" && keep_ending "$1"; then
        as_root systemctl reset-failed "bringup-$1.service" || :
    fi
    if grep -q -s -x -F "PartOf=bringup-$1.service" "/etc/systemd/system/bringup-$1-tokios.service"; then
        as_root systemctl reset-failed "bringup-$1-tokios.service" 2>/dev/null || :
    fi
}

# keep_ending NAME: how the ranks' main process ended, before systemd is told to forget it. False on a full disk: it goes on
# knowing it then.
keep_ending() {
    ke_file=$state_dir/deployments/$1/current/unit-ended
    ke_said=$(systemctl show "bringup-$1.service" -p Result,ExecMainCode,ExecMainStatus,NRestarts)
    { printf '%s\n' "$ke_said" >"$ke_file.new" && mv -f "$ke_file.new" "$ke_file"; } 2>/dev/null || {
        rm -f "$ke_file.new"
        return 1
    }
}

# unit_told NAME PROPERTY,...: what systemd knows of the ranks' unit, and of a stopped one what was kept.
unit_told() {
    ut_kept=$state_dir/deployments/$1/current/unit-ended
    if [ -r "$ut_kept" ] && ! systemctl is-active --quiet "bringup-$1.service"; then
        cat "$ut_kept"
        timeout 5 systemctl show "bringup-$1.service" -p "$2" | grep -v -e '^Result=' -e '^ExecMain' -e '^NRestarts='
    else
        timeout 5 systemctl show "bringup-$1.service" -p "$2"
    fi
}

# shared_memory_of PID...: the files in /dev/shm that these processes have mapped or open, each once.
shared_memory_of() {
    for sm_pid in "$@"; do
        sed -n 's,.* \(/dev/shm/[^ ]*\)$,\1,p' "/proc/$sm_pid/maps" 2>/dev/null
        find "/proc/$sm_pid/fd" -lname '/dev/shm/*' -exec readlink {} \; 2>/dev/null | grep -v ' (deleted)$'
    done | sort -u
}

# is_mapped FILE: whether any process has it mapped or open.
is_mapped() {
    grep -q -s -F -- " $1" /proc/[0-9]*/maps || [ -n "$(find /proc/[0-9]*/fd -lname "$1" 2>/dev/null | head -n 1)" ]
}

# free_shared_memory: remove what ranks that are gone left in memory; what anybody else has open is not ours alone.
free_shared_memory() {
    for fs_file in $sp_shared; do
        case $fs_file in */../* | */./*) continue ;; /dev/shm/?*) ;; *) continue ;; esac
        [ ! -f "$fs_file" ] || is_mapped "$fs_file" || rm -f -- "$fs_file"
    done
    rm -f "$state_dir/deployments/$1"/*/shared-memory
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
        wl_letter=$(sed 's/.*) \(.\).*/\1/' "/proc/$wl_pid/stat" 2>/dev/null)
        [ "$wl_letter" != D ] || wl_letter='D, waiting in the kernel for a device'
        printf 'process %s (%s): %s\n' "$wl_pid" "$wl_letter" \
            "$(tr '\0' ' ' <"/proc/$wl_pid/cmdline" 2>/dev/null | cut -c 1-120)"
    done
    gpus_still_held "$wl_name"
    if [ -z "${keep_guard:-}" ] && wl_pid=$(guard_process "$wl_name"); then
        printf 'process %s: the guard of the group\n' "$wl_pid"
    fi
    if [ -z "${keep_guard:-}" ] && [ -e "/etc/systemd/system/bringup-guard-$wl_name.service" ]; then
        printf 'unit bringup-guard-%s.service, which starts the guard with the host\n' "$wl_name"
    fi
    for wl_file in ${sp_shared:-}; do
        [ ! -e "$wl_file" ] || is_mapped "$wl_file" || printf 'shared memory %s\n' "$wl_file"
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

# gpus_still_held NAME: a line for each process of ours that a GPU's driver still shows, also one that is gone otherwise.
gpus_still_held() {
    if ! gs_owners=$(gpu_processes); then
        printf 'a GPU driver that does not answer: it is unknown whether GPUs are free\n'
        return
    fi
    [ -n "$gs_owners" ] || return 0
    gs_ours=" $(printf '%s\n%s' "${sp_before:-}" "$(all_processes "$1")" | tr '\n' ' ') "
    printf '%s\n' "$gs_owners" | while read -r gs_pid gs_gpu; do
        case $gs_ours in *" $gs_pid "*) printf 'GPU %s is held by process %s\n' "$gs_gpu" "$gs_pid" ;; esac
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

# look NAME OFFSET LIMIT [deep]: `STATE-LINE TAB SIZE-OF-LOG TAB AGE-OF-LOG TAB AGE-OF-START TAB CPU-TICKS TAB GPUS`, then
# the log's bytes behind OFFSET, at most LIMIT. Ages in seconds, `-` for what is not there; the last two only with `deep`.
look() {
    lk_log=$state_dir/deployments/$1/current/log
    lk_size=$(wc -c <"$lk_log" 2>/dev/null || printf 0)
    lk_ticks=- lk_gpus=-
    if [ "${4:-}" = deep ]; then
        # shellcheck disable=SC2046  # pids
        lk_ticks=$(cpu_ticks $(all_processes "$1"))
        lk_gpus=$(gpu_activity 2>/dev/null | awk '{ printf "%s%s: %s %%", sep, $1, $2; sep = ", " }')
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(deployment_state "$1")" "$lk_size" "$(age_of "$lk_log")" \
        "$(age_of "$state_dir/deployments/$1/current/record")" "$lk_ticks" "${lk_gpus:--}"
    [ "$lk_size" -le "$2" ] || tail -c "+$(($2 + 1))" "$lk_log" | head -c "$3"
}

# age_of FILE: seconds since it was written, `-` where it is not.
age_of() {
    if [ -e "$1" ]; then printf '%s\n' $(($(date +%s) - $(stat -c %Y "$1"))); else printf -- '-\n'; fi
}

# cpu_ticks PID...: the CPU time that these processes have taken, in ticks of the kernel.
cpu_ticks() {
    for ct_pid in "$@"; do
        sed 's/.*) //' "/proc/$ct_pid/stat" 2>/dev/null
    done | awk '{ sum += $12 + $13 } END { printf "%d\n", sum }'
}

# keep_marks NAME: which processes the ranks are and which shared memory they have, when they are ready: a stop after their
# death still finds it, and one that is missing is seen.
keep_marks() {
    # shellcheck disable=SC2046  # pids
    shared_memory_of $(all_processes "$1") >"$state_dir/deployments/$1/current/shared-memory"
    # Once for each start: whoever is gone later must not be missing on it too.
    km_roster=$state_dir/deployments/$1/current/roster
    [ -e "$km_roster" ] || { roster "$1" >"$km_roster.new" && mv -f "$km_roster.new" "$km_roster"; }
}

# take_stock NAME LINE...: keep who the ranks are and what they logged of their KV cache, beside their log, which grows; tells
# the state of the deployment.
take_stock() {
    keep_marks "$1"
    tk_name=$1 tk_dir=$state_dir/deployments/$1/current
    shift
    printf '%s\n' "$@" >"$tk_dir/kv-cache.partial" && mv -f "$tk_dir/kv-cache.partial" "$tk_dir/kv-cache"
    deployment_state "$tk_name"
}

# main_told NAME: `since=N pid=N restarts=N exit=N`: when this generation became the current one, and of the main process
# what somebody knows.
main_told() {
    if [ -f "$state_dir/deployments/$1/current/guard.json" ]; then
        if guard_process "$1" >/dev/null; then printf 'guard=1 '; else printf 'guard=0 '; fi
    fi
    printf 'since=%s ' "$(stat -c %Y "$state_dir/deployments/$1/current" 2>/dev/null)"
    if has_unit "$1"; then
        unit_told "$1" MainPID,NRestarts,ExecMainStatus 2>/dev/null |
            sed -n 's/^MainPID=/pid=/p; s/^NRestarts=/restarts=/p; s/^ExecMainStatus=/exit=/p' | tr '\n' ' '
    else
        printf 'pid=%s' "$(main_process "$state_dir/deployments/$1/current/record")"
    fi
    printf '\n'
}

# tell_deployments: for each deployment of this host six lines: its name, its state, the age in seconds of its log's last
# line (- without a log), its generation.json (one line), what its engines logged of their KV cache (tabs between them),
# what main_told says.
tell_deployments() {
    for td_link in "$state_dir/deployments"/*/current; do
        [ -L "$td_link" ] || continue
        td_name=${td_link%/current}
        td_name=${td_name##*/}
        td_age=-
        if [ -e "$td_link/log" ]; then td_age=$(($(date +%s) - $(stat -c %Y "$td_link/log"))); fi
        printf '%s\n%s\n%s\n%s\n%s\n%s\n' "$td_name" "$(deployment_state "$td_name")" "$td_age" \
            "$(head -n 1 "$td_link/generation.json" 2>/dev/null)" \
            "$(head -n 64 "$td_link/kv-cache" 2>/dev/null | tr '\n' '\t')" "$(main_told "$td_name")"
    done
}

# keep_history NAME JSON: one line in the deployment's history: what was done, and on what ground (kernel, boot, driver).
keep_history() {
    kh_file=$state_dir/deployments/$1/history
    [ -d "${kh_file%/*}" ] || return 0
    printf '%s\t%s\t%s\t%s\n' "$2" "$(uname -r)" "$(boot_id)" "$(gpu_driver)" >>"$kh_file"
    [ "$(wc -l <"$kh_file")" -le 400 ] || { tail -n 200 "$kh_file" >"$kh_file.new" && mv -f "$kh_file.new" "$kh_file"; }
}

# keep_served NAME GENERATION JSON: the same, unless it is known already that this generation has served here.
keep_served() {
    grep -q -e "\"generation\": \"$2\", \"outcome\": \"serving\"" "$state_dir/deployments/$1/history" 2>/dev/null ||
        keep_history "$1" "$3"
}

# tell_history NAME: the last lines of its history, then a line with the ground of now in the same form.
tell_history() {
    tail -n 200 "$state_dir/deployments/$1/history" 2>/dev/null
    printf 'now\t%s\t%s\t%s\n' "$(uname -r)" "$(boot_id)" "$(gpu_driver)"
}

# tell_generations NAME: for each generation that is stored here, the current one first, its generation.json (one line).
tell_generations() {
    tg_dir=$state_dir/deployments/$1
    tg_current=$(readlink "$tg_dir/current" 2>/dev/null)
    for tg_one in "$tg_current" $(cd "$tg_dir" 2>/dev/null && ls -t); do
        if [ -z "$tg_one" ] || [ -L "$tg_dir/$tg_one" ] || [ ! -f "$tg_dir/$tg_one/generation.json" ]; then continue; fi
        if [ "$tg_one" = "$tg_current" ] && [ -n "${tg_first:-}" ]; then continue; fi
        tg_first=told
        head -n 1 "$tg_dir/$tg_one/generation.json"
    done
}

# switch_generation NAME GENERATION: make a stored generation the current one: what it starts from is what it ran.
switch_generation() {
    sg_dir=$state_dir/deployments/$1
    [ -x "$sg_dir/$2/command.sh" ] || [ -f "$sg_dir/$2/command.sh" ] || {
        printf 'there is no %s/command.sh\n' "$sg_dir/$2" >&2
        return 1
    }
    ln -sfn "$2" "$sg_dir/current.new" && mv -fT "$sg_dir/current.new" "$sg_dir/current" || return 1
    if [ -f "$sg_dir/$2/unit.service" ] && [ -d /run/systemd/system ]; then
        as_root install -m 0644 "$sg_dir/$2/unit.service" "/etc/systemd/system/bringup-$1.service"
    fi
}

# observed PART COMMAND...: run it aside and keep what it says as a part of one answer.
observed() {
    ob_part=$1
    shift
    "$@" >"$ob_folder/$ob_part" 2>"$ob_folder/$ob_part.err" &
}

# tell_observed: every part as `== NAME BYTES` and its bytes.
tell_observed() {
    wait
    for to_file in "$ob_folder"/*; do
        case $to_file in *.err) [ -s "$to_file" ] || continue ;; esac
        printf '== %s %s\n' "${to_file##*/}" "$(wc -c <"$to_file")"
        cat "$to_file"
        printf '\n'
    done
    rm -rf -- "$ob_folder"
}

# folder_aside: a folder for answers that come at once; in memory, because the disk may be full.
folder_aside() {
    for fa_parent in /dev/shm /run /tmp; do
        ob_folder=$(mktemp -d "$fa_parent/bringup-look.XXXXXX" 2>/dev/null) && return 0
    done
    printf 'no folder takes a temporary file: tried /dev/shm, /run and /tmp\n' >&2
    return 1
}

# gpu_nodes: `BUS-ADDRESS NUMA-NODE CPU-LIST` of every GPU that a process holds memory of.
gpu_nodes() {
    cut -d ' ' -f 2 | grep -v '^-$' | sort -u | while read -r gn_address; do
        # The tool writes eight digits of the domain, the kernel four.
        gn_pci=$(printf '%s' "$gn_address" | tr 'A-F' 'a-f' | sed 's/^0000\(....:\)/\1/')
        gn_node=$(cat "/sys/bus/pci/devices/$gn_pci/numa_node" 2>/dev/null) || continue
        printf '%s %s %s\n' "$gn_address" "$gn_node" "$(cat "/sys/devices/system/node/node$gn_node/cpulist" 2>/dev/null)"
    done
}

# tell_log NAME LINES BYTES: `CLOCK ZONE SIZE STATE` of this moment, then the last LINES of the log, of its last BYTES.
tell_log() {
    tl_log=$state_dir/deployments/$1/current/log
    tl_size=$(wc -c <"$tl_log" 2>/dev/null || printf 0)
    tl_age=-
    if [ -e "$tl_log" ]; then tl_age=$(($(date +%s) - $(stat -c %Y "$tl_log"))); fi
    printf '%s %s %s %s %s\n' "$(date +%s.%N)" "$(date +%z)" "$tl_size" "$tl_age" "$(deployment_state "$1")"
    [ "$2" = 0 ] || tail -c "$3" -- "$tl_log" 2>/dev/null | tail -n "$2"
}
