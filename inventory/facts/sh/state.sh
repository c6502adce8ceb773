# shellcheck shell=sh
# What bringup itself left on the host, below $state_dir.
# `ls` tells a folder that is not there from one that we may not read.
section_state() {
    item environments-folder ls -A "$state_dir/envs"
    for folder in "$state_dir"/envs/*/; do
        [ ! -d "$folder" ] || page environment "$folder" cat "${folder}bringup-env.json"
        [ ! -d "$folder" ] || page packages "$folder" installed "$folder"
    done
    item weights-folder ls -A "$state_dir/weights"
    for folder in "$state_dir"/weights/*/*/; do
        [ ! -d "$folder" ] || page weights "$folder" cat "${folder}.bringup-manifest.json"
    done
}

# installed FOLDER/: `python 3.12`, and `name-version` of every distribution. No program is started for it.
installed() {
    for library in "$1"lib/python3.*/site-packages; do
        [ -d "$library" ] || continue
        python=${library%/site-packages}
        printf 'python %s\n' "${python##*/python}"
        for distribution in "$library"/*.dist-info; do
            distribution=${distribution##*/}
            printf '%s\n' "${distribution%.dist-info}"
        done
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
    deployment_processes "$deployment_name" "$deployment_generation" | while read -r pid; do
        printf 'process %s\n' "$pid"
        cgroup_of "$pid"
    done
    processes_by_session "$1/guard-record" | sed 's/^/guard /'
}

# cgroup_of PID: `cgroup PID PATH`, of version 2 or of systemd's own hierarchy.
cgroup_of() {
    while read -r line; do
        case $line in 0::* | *:name=systemd:*) printf 'cgroup %s %s\n' "$1" "${line#*:*:}" ;; esac
    done <"/proc/$1/cgroup"
} 2>/dev/null

# process_line PID: `leader STATE STARTTIME` of a process that is there (a zombie says Z).
process_line() {
    read -r line <"/proc/$1/stat" || return 0
    # shellcheck disable=SC2086  # the fields after the command's name, which may hold anything
    set -- ${line##*) }
    printf 'leader %s %s\n' "$1" "${20}"
}
