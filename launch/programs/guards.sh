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

# start_guard NAME: of the current generation, where it has one. As a unit it comes back with its host: it has to answer
# the head's guard, which starts the group, all of it.
start_guard() {
    st_dir=$state_dir/deployments/$1/current
    stop_guard "$1" # of another generation: it would keep the port, and act on ranks that it does not know
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
    rm -f "$state_dir/deployments/$1"/*/guard-record "$state_dir/deployments/$1"/*/guard-memory
}
