# shellcheck shell=sh
# Collect what one host knows of a deployment into a folder, and write the folder to stdout as tar.gz.
# Needs: state_dir, supervise.sh. Reads only; every question has a deadline of its own.

LOG_HEAD=262144
LOG_TAIL=4194304

# as_reader COMMAND...: as root where that needs no password, else as we are.
as_reader() { if [ "$(id -u)" = 0 ] || ! sudo -n true 2>/dev/null; then "$@"; else sudo -n "$@"; fi; }

# collect NAME SINCE PAUSE PYTHON PORT...: PAUSE 0 is the short way: no stacks, one reading of everything.
collect() {
    co_name=$1 co_since=$2 co_pause=$3 co_python=$4
    shift 4
    co_dir=$(mktemp -d) || return 1
    # shellcheck disable=SC2064  # the folder of now
    trap "rm -rf '$co_dir'" EXIT
    printf '%s %s %s\n' "$(date +%s.%N)" "$(date +%z)" "$(cut -d ' ' -f 1 /proc/uptime)" >"$co_dir/clock.txt"
    co_link=$state_dir/deployments/$co_name/current
    deployment_state "$co_name" >"$co_dir/state.txt"
    for co_file in generation.json command.sh; do
        [ ! -r "$co_link/$co_file" ] || head -c 65536 "$co_link/$co_file" >"$co_dir/$co_file"
    done
    ends_of "$co_link/log" >"$co_dir/log" 2>/dev/null || rm -f "$co_dir/log"
    written_at "$co_link/log" >"$co_dir/log_age.txt"
    supervised
    of_the_host
    co_pids=$(all_processes "$co_name" | head -n 128)
    environments
    co_round=0
    round "$@"
    if [ "$co_pause" -gt 0 ]; then
        co_round=$co_pause
        sleep "$co_pause"
        round "$@"
        ends_of "$co_link/log" >"$co_dir/log" 2>/dev/null || :
    fi
    hide_key "$co_link"
    tar -C "$co_dir" -czf - .
}

# ends_of FILE: the file, or its beginning and its end where it is long.
ends_of() {
    eo_size=$(wc -c <"$1") || return 1
    if [ "$eo_size" -le $((LOG_HEAD + LOG_TAIL)) ]; then
        cat "$1"
    else
        head -c "$LOG_HEAD" "$1"
        printf '\n'
        tail -c "$LOG_TAIL" "$1"
    fi
}

# written_at FILE: when its last line came, in seconds since 1970 by the clock of the host.
written_at() { stat -c %Y "$1" 2>/dev/null || :; }

# What systemd knows of the unit: its state, how its main process ended, its limits, and its own words.
supervised() {
    has_unit "$co_name" || return 0
    co_asked=ActiveState,SubState,Result,ExecMainCode,ExecMainStatus,NRestarts,MemoryMax,MemoryPeak,TasksMax,TasksCurrent
    co_asked=$co_asked,LimitMEMLOCK,LimitNOFILE,ActiveEnterTimestamp,InactiveEnterTimestamp
    unit_told "$co_name" "$co_asked" >"$co_dir/unit.txt" 2>/dev/null
    as_reader timeout 10 journalctl -u "bringup-$co_name.service" --no-pager -o short-iso-precise -n 2000 --since "$co_since" \
        >"$co_dir/journal_unit.txt" 2>/dev/null || :
}

of_the_host() {
    as_reader timeout 10 journalctl -k -b --no-pager -q -o short-iso-precise -n 4000 --since "$co_since" 2>/dev/null |
        tail -c 1048576 >"$co_dir/kernel.txt"
    if [ ! -s "$co_dir/kernel.txt" ]; then  # no journal: the kernel's own buffer, where it may be read
        as_reader timeout 10 dmesg 2>/dev/null | tail -c 1048576 >"$co_dir/kernel.txt"
        [ -s "$co_dir/kernel.txt" ] || as_reader timeout 10 dmesg >/dev/null 2>&1 || rm -f "$co_dir/kernel.txt"
    fi
    timeout 10 ps -eo pid,ppid,user,stat,etimes,pcpu,rss,wchan:20,args 2>/dev/null | cut -c 1-300 >"$co_dir/ps.txt"
    timeout 10 ss -tanp >"$co_dir/ss_-tanp.txt" 2>/dev/null || rm -f "$co_dir/ss_-tanp.txt"
    { timeout 5 ip -br addr && timeout 5 ip route; } >"$co_dir/ip_addr.txt" 2>/dev/null || :
    { df -P -h && df -P -i; } >"$co_dir/df.txt" 2>/dev/null
    cat /proc/loadavg /proc/meminfo >"$co_dir/load.txt" 2>/dev/null
}

# The environment of every process; what may be a secret is hidden before it leaves the host.
environments() {
    for en_pid in $co_pids; do
        tr '\0' '\n' <"/proc/$en_pid/environ" 2>/dev/null |
            sed -E 's/^([A-Za-z0-9_]*([Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Pp][Aa][Ss][Ss]|[Kk][Ee][Yy]|[Cc][Rr][Ee][Dd]|[Aa][Uu][Tt][Hh])[A-Za-z0-9_]*)=.*/\1=***/' |
            LC_ALL=C sort >"$co_dir/environ_$en_pid.txt"
        [ -s "$co_dir/environ_$en_pid.txt" ] || rm -f "$co_dir/environ_$en_pid.txt"
    done
}

# round PORT...: what tells of a hang by being read twice: counters, stacks, states of collectives.
round() {
    for ro_port in "$@"; do
        ask_port "$ro_port" /metrics >"$co_dir/metrics_${ro_port}_t$co_round.txt" 2>/dev/null
        printf 'GET http://127.0.0.1:%s/health %s\n' "$ro_port" "$(ask_port "$ro_port" /health --status)"
    done >"$co_dir/probe.txt"
    find "$co_dir" -name 'metrics_*' -size 0 -delete
    [ "$co_pause" -gt 0 ] || return 0
    stacks
    if listening_on 28028; then
        timeout 10 "$co_python" -c "$RAS" >"$co_dir/nccl_ras_$co_round.txt" 2>&1 </dev/null
    fi
}

RAS='import socket
s = socket.create_connection(("127.0.0.1", 28028), 5); s.settimeout(5); s.sendall(b"verbose status\n")
try:
    while piece := s.recv(65536): print(piece.decode(errors="replace"), end="")
except OSError: pass'

GET='import sys, urllib.error, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[2]}", timeout=4) as answer: status, body = answer.status, answer.read(4 << 20)
except urllib.error.HTTPError as error: status, body = error.code, b""
except OSError as error: status, body = ("timed out" if "timed out" in str(error) else "refused"), b""
if sys.argv[3:]: print(status)
elif status == 200: sys.stdout.buffer.write(body)'

ask_port() { timeout 6 "$co_python" -I -c "$GET" "$@" </dev/null; }

# py-spy, where the environment has it; else the kernel's own stack, which tells where a process waits.
stacks() {
    st_spy=${co_python%/*}/py-spy
    for st_pid in $(printf '%s\n' "$co_pids" | head -n 40); do
        if [ -x "$st_spy" ]; then
            as_reader timeout 8 "$st_spy" dump --nonblocking --pid "$st_pid" >"$co_dir/py-spy_${st_pid}_t$co_round.txt" 2>&1 </dev/null &
        else
            as_reader head -n 40 "/proc/$st_pid/stack" >"$co_dir/stack_${st_pid}_t$co_round.txt" 2>/dev/null
        fi
    done
    wait
}

# hide_key LINK: the key that clients send must not leave the host, wherever it was printed.
hide_key() {
    hk_file=$1/api-key
    [ -r "$hk_file" ] || return 0
    for hk_text in "$co_dir"/*; do
        awk 'NR == FNR { key = $0; next }
            { if (length(key) > 3) while ((at = index($0, key)) > 0) $0 = substr($0, 1, at - 1) "***" substr($0, at + length(key)); print }' \
            "$hk_file" "$hk_text" >"$hk_text.hidden" && mv -f "$hk_text.hidden" "$hk_text"
    done
}
