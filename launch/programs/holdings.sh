# shellcheck shell=sh
# What this host holds of weights and who needs it, a line each, tabs between the words.
# Needs: state_dir, the functions of jobs.
#   type FILE-SYSTEM
#   folder PATH BYTES SEALED-AT DIGESTS-AT NOW            seconds since 1970, - where there is none
#   used PATH DEPLOYMENT GENERATION
#   link PATH TARGET                                      of a link that leads to other weights
#   busy PATH WHY
#   blind WHAT                                            something that could not be read: nothing may go
tell_holdings() {
    cd "$state_dir/weights" 2>/dev/null || return 0
    printf 'type\t%s\n' "$(stat -f -c %T . 2>/dev/null)"
    tell_unreadable
    for th_folder in "$state_dir"/weights/*/*/; do
        th_folder=${th_folder%/}
        if [ ! -d "$th_folder" ] || [ -L "$th_folder" ]; then continue; fi
        printf 'folder\t%s\t%s\t%s\t%s\t%s\n' "$th_folder" \
            "$(find -L "$th_folder" -type f -exec stat -L -c %s {} + 2>/dev/null | awk '{ s += $1 } END { printf "%.0f", s }')" \
            "$(stat -c %Y "$th_folder/.bringup-manifest.json" 2>/dev/null || printf -)" \
            "$(cut -c 1-20 "$th_folder/.bringup-digests" 2>/dev/null | grep -x '[0-9]*' || printf -)" "$(date +%s)"
        tell_users "$th_folder"
        tell_busy "$th_folder"
    done
    find "$state_dir/weights" -type l 2>/dev/null | while read -r th_link; do
        th_target=$(readlink -f "$th_link")
        case $th_target in "$state_dir"/weights/*) printf 'link\t%s\t%s\n' "$th_link" "$th_target" ;; esac
    done
}

# Whoever cannot read what generations need knows nothing of it.
tell_unreadable() {
    [ ! -e "$state_dir/deployments" ] || ls -A "$state_dir/deployments" >/dev/null 2>&1 ||
        printf 'blind\t%s\n' "$state_dir/deployments"
    for tu_generation in "$state_dir"/deployments/*/*/; do
        tu_generation=${tu_generation%/}
        if [ ! -d "$tu_generation" ] || [ -L "$tu_generation" ]; then continue; fi
        [ -r "$tu_generation/command.sh" ] || [ ! -e "$tu_generation/generation.json" ] ||
            printf 'blind\t%s\n' "$tu_generation/command.sh"
    done
}

tell_users() {
    grep -lF -- "$1" "$state_dir"/deployments/*/*/command.sh 2>/dev/null | while read -r ts_file; do
        ts_folder=${ts_file%/command.sh}
        [ ! -L "$ts_folder" ] || continue
        ts_above=${ts_folder%/*}
        printf 'used\t%s\t%s\t%s\n' "$1" "${ts_above##*/}" "${ts_folder##*/}"
    done
}

# Work of ours that names the folder, or anything that was written to it in the last hour while it is not sealed.
tell_busy() {
    for tb_job in "$state_dir"/jobs/*/; do
        tb_job=${tb_job%/}
        if [ ! -e "$tb_job/exit" ] && recorded_alive "$tb_job/record" && grep -qF -- "$1" "$tb_job/script" 2>/dev/null; then
            printf 'busy\t%s\tjob %s runs\n' "$1" "${tb_job##*/}"
        fi
    done
    if [ ! -e "$1/.bringup-manifest.json" ] && [ -n "$(find "$1" -mmin -60 2>/dev/null | head -n 1)" ]; then
        printf 'busy\t%s\tnot complete, and written to in the last hour\n' "$1"
    fi
}
