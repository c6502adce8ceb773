# shellcheck shell=sh
# The start of the script that gathers all facts of a host: a private folder, and how sections are started.
# Needs: whole_seconds. Runs in any POSIX shell on Linux; leaves nothing behind.
set -u
umask 077
LC_ALL=C
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin:/usr/lib/wsl/lib:${HOME:-/}/.local/bin"
export LC_ALL PATH
begun=$(date +%s.%N)

# private_folder: a new folder that only we can read and that takes data (a full disk does not).
# Memory first: a probe should neither need nor touch a disk.
private_folder() {
    for parent in /dev/shm "${XDG_RUNTIME_DIR:-/dev/shm}" "${TMPDIR:-/tmp}" /tmp /var/tmp "${HOME:-/}"; do
        made=$(mktemp -d "$parent/bringup-facts.XXXXXXXX" 2>/dev/null) || continue
        if echo probe 2>/dev/null >"$made/probe"; then
            rm -f "$made/probe"
            printf '%s\n' "$made"
            return 0
        fi
        rmdir "$made"
    done
    return 1
}

clean_up() {
    cd / && rm -rf -- "$folder"
}

# section NAME SECONDS: start the section in a process of its own; it reports to descriptor 3 when it ends.
section() {
    sections="$sections $1"
    (
        limited "$2" sh ./.sections "section_$1" >/dev/null 2>"$1.end.err"
        printf '%s\n' "$?" >"$1.end"
        echo "$1" >&3
    ) >/dev/null 2>&1 &
}

# alarm SECONDS: say `late` on descriptor 3 then. A process that sits in the kernel (a GPU driver, a dead NFS
# server) outlives even SIGKILL and makes `timeout` wait for it: the whole must not.
alarm() {
    nap=
    trap 'kill $nap 2>/dev/null; exit' TERM
    sleep "$1" &
    nap=$!
    wait "$nap"
    echo late >&3
}

sections=
if ! folder=$(private_folder); then
    echo 'no folder takes a temporary file: tried /dev/shm, XDG_RUNTIME_DIR, TMPDIR, /tmp, /var/tmp and HOME' >&2
    exit 74
fi
trap clean_up EXIT
trap 'exit 129' HUP INT TERM
cd "$folder" || exit 74
mkfifo .ended && exec 3<>.ended
read -r mark </proc/sys/kernel/random/uuid
