# shellcheck shell=sh
# Start, stop and look at the guard of one deployment on one host.
# Needs: state_dir, supervise.sh.

# guard_process NAME: the pid of the guard, if it runs.
guard_process() {
    for gp_record in "$state_dir/deployments/$1"/*/guard-record; do
        main_process "$gp_record" && return 0
    done
    return 1
}

# guard_state NAME GENERATION WANTED: `running DIGEST` of the files that it was started from, `stopped`, or `absent` without
# files. Where that is not as wanted and it is in the middle of a recovery, it is not to be touched.
guard_state() {
    gt_dir=$state_dir/deployments/$1/$2 gt_state=stopped gt_begun=''
    if main_process "$gt_dir/guard-record" >/dev/null; then
        gt_state="running $(cat "$gt_dir/guard-from" 2>/dev/null)"
        gt_begun=$(sed -n 's/.*"begun": "\(..*\)"}$/\1/p' "$gt_dir/guard-memory" 2>/dev/null)
    elif [ ! -e "$gt_dir/guard-run.sh" ]; then
        gt_state=absent
    fi
    if [ -n "$gt_begun" ] && [ "$gt_state" != "$3" ]; then gt_state="refused guard-recovers $gt_begun"; fi
    printf '%s\n' "$gt_state"
}

# start_guard NAME: of the current generation, where it has one. The group is started anew, and it remembers nothing.
start_guard() {
    stop_guard "$1" # of another generation: it would keep the port, and act on ranks that it does not know
    run_guard "$1"
}

# renew_guard NAME PORT: another one from its files as they are now. The ranks go on, and what it remembers stays.
renew_guard() {
    end_guard "$1"
    run_guard "$1"
    rg_looks=0
    until guard_process "$1" >/dev/null && listening_on "$2"; do
        rg_looks=$((rg_looks + 1))
        [ "$rg_looks" -le 100 ] || {
            printf 'the guard does not listen on port %s after 20 s\n' "$2" >&2
            tail -n 5 "$state_dir/deployments/$1/current/guard.log" >&2 2>/dev/null
            return 1
        }
        sleep 0.2
    done
}

# remove_guard NAME GENERATION FILE...: end it and remove its files, of which the last says that there is one. Its log stays.
# That of another generation, which is still the current one, goes on.
remove_guard() {
    [ "$(readlink "$state_dir/deployments/$1/current")" != "$2" ] || stop_guard "$1"
    rv_dir=$state_dir/deployments/$1/$2
    shift 2
    for rv_file in "$@"; do rm -f -- "$rv_dir/$rv_file" || return 1; done
}

# run_guard NAME: as a unit it comes back with its host: it has to answer the head's guard, which starts the group, all of it.
run_guard() {
    st_dir=$state_dir/deployments/$1/current
    [ -f "$st_dir/guard-run.sh" ] || return 0
    if [ -f "$st_dir/guard.service" ] && [ -d /run/systemd/system ]; then
        as_root install -m 0644 "$st_dir/guard.service" "/etc/systemd/system/bringup-guard-$1.service"
        as_root systemctl daemon-reload
        as_root systemctl enable --quiet "bringup-guard-$1.service"
        as_root systemctl restart "bringup-guard-$1.service"
    else
        setsid /bin/sh "$st_dir/guard-run.sh" >>"$st_dir/guard.log" 2>&1 </dev/null &
    fi
}

# stop_guard NAME: first of all, or it would take what is being stopped for a failure.
stop_guard() {
    end_guard "$1"
    rm -f "$state_dir/deployments/$1"/*/guard-memory
}

# end_guard NAME: its unit and its process.
end_guard() {
    if [ -e "/etc/systemd/system/bringup-guard-$1.service" ] && [ -d /run/systemd/system ]; then
        as_root systemctl disable --quiet --now "bringup-guard-$1.service"
        as_root rm -f "/etc/systemd/system/bringup-guard-$1.service"
        as_root systemctl reset-failed "bringup-guard-$1.service" 2>/dev/null || :
    fi
    if sgd_pid=$(guard_process "$1"); then
        kill -TERM "$sgd_pid" 2>/dev/null || :
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            guard_process "$1" >/dev/null || break
            sleep 0.2
        done
        ! sgd_pid=$(guard_process "$1") || kill -KILL "$sgd_pid" 2>/dev/null || :
    fi
    rm -f "$state_dir/deployments/$1"/*/guard-record
}
