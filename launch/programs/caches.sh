# shellcheck shell=sh
# What was put aside for the caches of a deployment, and what is to be put out of its way. Needs: state_dir, supervise.sh.
# Only where nothing runs: a process that compiles must not lose the folder it writes to.

# stamps_of NAME: names of the folders of caches that its current generation uses.
stamps_of() {
    for so_folder in "$state_dir"/caches/*/ "$state_dir"/caches/.staged/*/; do
        so_stamp=${so_folder%/}
        so_stamp=${so_stamp##*/}
        ! grep -qF "$state_dir/caches/$so_stamp/" "$state_dir/deployments/$1/current/command.sh" 2>/dev/null ||
            printf '%s\n' "$so_stamp"
    done | sort -u
}

# caches_used STAMP: whether ranks of any deployment run that use them.
caches_used() {
    for cu_link in "$state_dir"/deployments/*/current; do
        [ -L "$cu_link" ] || continue
        cu_name=${cu_link%/current}
        case $(deployment_state "${cu_name##*/}") in *running | *partial) ;; *) continue ;; esac
        ! grep -qF "$state_dir/caches/$1/" "$cu_link/command.sh" || return 0
    done
    return 1
}

# take_caches NAME: put what is staged in its place. It was staged when all hosts had verified theirs. Typed again after
# a crash it does the rest: the staged files stay until all are in place.
take_caches() {
    for tc_stamp in $(stamps_of "$1"); do
        tc_staged=$state_dir/caches/.staged/$tc_stamp
        [ -d "$tc_staged/files" ] || continue
        ! caches_used "$tc_stamp" || continue
        mkdir -p "$state_dir/caches/$tc_stamp"
        if cp -alf "$tc_staged/files/." "$state_dir/caches/$tc_stamp/" && \
            cp -f "$tc_staged/set.json" "$state_dir/caches/$tc_stamp/.bringup-set.json"; then
            rm -rf -- "$tc_staged"
        else
            printf 'caches of %s could not be put in place: some ranks compile anew\n' "$1" >&2
        fi
    done
}

# set_caches_aside NAME: once for each stamp, until a start is good again. Prints `aside FOLDER` or `again FOLDER`.
set_caches_aside() {
    for sa_stamp in $(stamps_of "$1"); do
        sa_folder=$state_dir/caches/$sa_stamp
        sa_aside=$state_dir/caches/.poisoned/$sa_stamp
        if [ -e "$sa_aside" ]; then
            printf 'again %s\n' "$sa_aside"
        elif caches_used "$sa_stamp"; then
            printf 'used %s\n' "$sa_folder"
        else
            mkdir -p "$state_dir/caches/.poisoned" && mv -T -- "$sa_folder" "$sa_aside" && mkdir -p "$sa_folder" || return 1
            cp -p "$sa_aside/.bringup-stamp.json" "$sa_folder/" 2>/dev/null
            rm -rf -- "$state_dir/caches/.staged/$sa_stamp"
            printf 'aside %s\n' "$sa_aside"
        fi
    done
}

# aside_is_free NAME: prints `free` where its caches may be put out of the way: that was not done before, and nothing
# that runs uses them.
aside_is_free() {
    for af_stamp in $(stamps_of "$1"); do
        [ ! -e "$state_dir/caches/.poisoned/$af_stamp" ] && ! caches_used "$af_stamp" || return 1
        printf 'free\n'
    done
}

# caches_are_good NAME: what was put out of the way has had its use.
caches_are_good() {
    for cg_stamp in $(stamps_of "$1"); do rm -rf -- "$state_dir/caches/.poisoned/$cg_stamp"; done
}
