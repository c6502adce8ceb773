# shellcheck shell=sh
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
