# shellcheck shell=sh
# What ranks have compiled and tuned on this host. Needs: state_dir.
section_caches() {
    item folder ls -A "$state_dir/caches"
    item stamp cat "$state_dir/caches/.bringup-stamp.json"
    item artefacts rank_files
    for stamped in "$state_dir"/caches/*/.bringup-stamp.json; do
        [ ! -e "$stamped" ] || page stamps "${stamped%/*}" cat "$stamped"
    done
    item memory kept_memory
}

# What earlier starts measured of the memory for their KV caches, a line of JSON each.
kept_memory() {
    for kept in "$state_dir"/caches/.kv-memory/*.json; do
        [ ! -e "$kept" ] || head -n 1 "$kept"
    done | tail -n 200
}

# Files that belong to one rank each, and one file to see whether anything is there at all.
rank_files() {
    # In a shell of its own: the folder of this one holds the answer.
    (
        cd "$state_dir/caches" || exit
        find . -path './.*' -prune -o -type f ! -name '.bringup*' -print | head -n 1 | sed 's/^/any /'
        find . -path './.*' -prune -o \( -type f -name '*dp[0-9]*_rank[0-9]*' -o \
            -path '*/torch_aot_compile/*/rank_*/model' \) -print | head -n 5000
    )
}
