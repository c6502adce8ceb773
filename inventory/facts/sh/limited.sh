# shellcheck shell=sh
# limited SECONDS COMMAND...: run it, end it after SECONDS (exit status 124, 137 when it had to be killed).
limited() {
    if timeout -k 1 5 true 2>/dev/null; then
        timeout -k 2 "$@"
    else
        watched "$@"
    fi
}

# Without a usable `timeout` (old busybox): end the command and what it started, parents first.
watched() {
    watched_seconds=$1
    shift
    "$@" &
    watched_pid=$!
    (
        nap=
        trap 'kill $nap 2>/dev/null; exit' TERM
        sleep "$watched_seconds" &
        nap=$!
        wait "$nap"
        kill_tree TERM "$watched_pid"
        sleep 2
        kill_tree KILL "$watched_pid"
    ) >/dev/null 2>&1 &
    watched_guard=$!
    wait "$watched_pid"
    watched_status=$?
    kill "$watched_guard" 2>/dev/null
    [ "$watched_status" != 143 ] || watched_status=124
    return "$watched_status"
}

kill_tree() {
    children=
    [ ! -r "/proc/$2/task/$2/children" ] || read -r children <"/proc/$2/task/$2/children"
    kill "-$1" "$2" 2>/dev/null
    for child in $children; do
        (kill_tree "$1" "$child")
    done
}
