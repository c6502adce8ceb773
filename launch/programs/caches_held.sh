# shellcheck shell=sh
# What this host holds of caches and who needs it, a line each, tabs between the words.
# Needs: state_dir, the functions of holdings.sh.
#   type FILE-SYSTEM
#   stamp STAMP BYTES CHANGED-AT ENVIRONMENT      seconds since 1970, - where there is none that is stored
#   used PATH DEPLOYMENT GENERATION               and blind, as of weights
tell_caches() {
    cd "$state_dir/caches" 2>/dev/null || return 0
    printf 'type\t%s\n' "$(stat -f -c %T . 2>/dev/null)"
    tell_unreadable
    # A set that was staged, or put out of the way, may have no folder beside it.
    for tc_stamp in $(find . .staged .poisoned -maxdepth 1 -type d 2>/dev/null | sed 's,.*/,,' |
        grep -x '[0-9a-f]\{12\}' | sort -u); do
        printf 'stamp\t%s\t%s\t%s\t%s\n' "$tc_stamp" "$(bytes_of "$tc_stamp")" "$(changed_at "$tc_stamp")" \
            "$(environment_of "$tc_stamp")"
        tell_users "$state_dir/caches/$tc_stamp"
    done
}

# A file that is staged and in use is one file.
bytes_of() {
    du -skc -- "$1" ".staged/$1" ".poisoned/$1" 2>/dev/null | awk 'END { printf "%.0f", $1 * 1024 }'
}

changed_at() {
    stat -c %Y -- "$1" ".staged/$1" ".poisoned/$1" 2>/dev/null | sort -rn | head -n 1
}

# The engine that compiled it, if that is still here: compiled code is bound to the paths of its sources.
environment_of() {
    eo_digest=$(sed -n 's,^ *"program": ".*/envs/\([0-9A-Za-z]*\)/.*,\1,p' "$1/.bringup-stamp.json" 2>/dev/null | head -n 1)
    if [ -n "$eo_digest" ] && [ -e "$state_dir/envs/$eo_digest/bringup-env.json" ]; then
        printf '%s' "$eo_digest"
    else
        printf -- -
    fi
}
