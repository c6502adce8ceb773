# shellcheck shell=sh
# What a guard may do on its host: `sh guard.sh VERB [ARGUMENT]`. Behind the functions of supervise.sh.
# Needs: state_dir, name, ports, grace_s.
keep_guard=1
case $1 in
state) deployment_state "$name" ;;
stop)
    # shellcheck disable=SC2086  # ports
    left=$(stop_and_prove "$name" "$grace_s" $ports)
    printf '%s\n' "$left"
    [ -z "$left" ]
    ;;
start) start_deployment "$name" ;;
keep) keep_marks "$name" ;;
capture)
    case $2 in '' | *[!0-9TZ]*) exit 2 ;; esac
    folder=$state_dir/deployments/$name/captures/$2
    umask 077
    mkdir -p "$folder" || exit 1
    tail -c 4194304 "$state_dir/deployments/$name/current/log" >"$folder/log" 2>/dev/null
    deployment_state "$name" >"$folder/state"
    ! has_unit "$name" || unit_told "$name" Result,ExecMainCode,ExecMainStatus,NRestarts >"$folder/unit"
    # shellcheck disable=SC2046  # pids
    for pid in $(all_processes "$name"); do
        printf '%s %s\n' "$pid" "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 1)"
        cat "/proc/$pid/wchan" 2>/dev/null
        printf '\n'
    done >"$folder/processes"
    gpu_activity >"$folder/gpus" 2>&1
    gpu_processes >"$folder/gpu-owners" 2>&1
    dmesg 2>/dev/null | tail -n 400 >"$folder/kernel"
    printf '%s\n' "$folder"
    ;;
lock)
    # A disk that is full takes the folder and not the signature: such a lock would be nobody's for ever.
    mkdir "$state_dir/lock" 2>/dev/null || { [ -d "$state_dir/lock" ] && exit 1 || exit 3; }
    { printf '{"user": "guard", "control": "%s", "machine_id": "guard", "boot_id": "%s", "pid": 0, "started": 0, "since": "%s", "why": "group recovery of %s", "run": "%s"}\n' \
        "$(uname -n)" "$(boot_id)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$name" "$2" >"$state_dir/lock/owner.new" && mv "$state_dir/lock/owner.new" "$state_dir/lock/owner"; } 2>/dev/null || {
        rm -f "$state_dir/lock/owner.new"
        rmdir "$state_dir/lock"
        exit 3
    }
    ;;
unlock)
    grep -qF "\"run\": \"$2\"" "$state_dir/lock/owner" 2>/dev/null || exit 0
    rm -f "$state_dir/lock/owner" && rmdir "$state_dir/lock"
    ;;
history) keep_history "$name" "$2" ;;
*) exit 2 ;;
esac
