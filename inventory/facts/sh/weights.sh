# shellcheck shell=sh
# What lies in the folders of weights. A file server that hangs costs this section only.
# Needs: state_dir, weights_program.
section_weights() {
    item now date +%s
    item locks lock_files
    item held cat /proc/locks
    weights_folders=0
    for folder in "$state_dir"/weights/*/*/; do
        [ -d "$folder" ] || continue
        folder=${folder%/}
        weights_folders=$((weights_folders + 1))
        page files "$folder" weight_files "$folder"
        page links "$folder" links_of "$folder"
        page unreadable "$folder" unreadable_files "$folder"
        page pointers "$folder" lfs_pointers "$folder"
    done
    [ "$weights_folders" = 0 ] || headers
}

weight_files() {
    find -L "$1" -type f -exec stat -L -c '%s %n' {} + | head -n 20000
}

# A link, and where it leads to: `link -> target`.
links_of() {
    # shellcheck disable=SC2016  # for the other shell
    find "$1" -type l -exec sh -c 'for link; do printf "%s -> %s\n" "$link" "$(readlink -f "$link")"; done' sh {} + |
        head -n 2000
}

# Links that lead nowhere are not readable either.
unreadable_files() {
    # shellcheck disable=SC2016  # for the other shell
    find "$1" ! -type d -exec sh -c 'for file; do [ -r "$file" ] || printf "%s\n" "$file"; done' sh {} + | head -n 200
}

# What `git clone` leaves without LFS: a few lines of text where weights should be.
lfs_pointers() {
    find -L "$1" -type f -size -4 ! -name '*.json' ! -path '*/.cache/*' \
        -exec grep -l -a -e '^version https://git-lfs' {} + | head -n 200
}

# `inode age-in-seconds-since-1970 size path`
lock_files() {
    set -- "$state_dir/weights" "$state_dir/caches"
    [ -d "$1" ] || shift
    [ -d "${2:-$1}" ] || set -- "$1"
    [ -d "$1" ] || return 0
    find "$@" -type f \( -name '*.lock' -o -name lock -o -name '*.incomplete' \) -exec stat -c '%i %Y %s %n' {} + |
        head -n 500
}

# The length that each header tells, in the first Python that runs.
headers() {
    for python in "$state_dir"/envs/*/bin/python python3; do
        if "$python" -I -S -B -c 'import json' 2>/dev/null; then
            item headers "$python" -I -S -B -c "$weights_program" "$state_dir/weights"
            return
        fi
    done
}
