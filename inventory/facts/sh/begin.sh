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

# sections SECONDS NAME...: start the sections that have so many seconds: each in a process of its own, all under one keeper
# of the deadline, who ends those that are not done by then. Reports to descriptor 3 when all have ended.
sections() {
    started=$((started + 1))
    (
        "$keeper" "$@" 2>".$1.err"
        kept=$?
        seconds=$1
        shift
        for name in "$@"; do
            [ -s "$name.end" ] && continue
            printf '%s\n' "$kept" >"$name.end"
            cat ".$seconds.err" >>"$name.end.err"
        done
        echo ended >&3
    ) >/dev/null 2>&1 &
}

# timed SECONDS NAME...: timeout(1) of coreutils makes a group and sends TERM to all of it, but KILL only if the shell
# itself is still there. What ignored TERM is killed here.
timed() {
    timeout -k 2 "$1" sh ./.sections "$@"
    kept=$?
    case $kept in
    124 | 137) read -r group <".$1.group" && kill -KILL "-$group" 2>/dev/null ;;
    esac
    return "$kept"
}

# watched SECONDS NAME...: where there is no such timeout (busybox's ends one process, not the group).
watched() {
    # shellcheck disable=SC2086  # nothing or one word
    $leader sh ./.sections "$@" &
    watched_pid=$!
    (
        pause "$1"
        kill -TERM "-$watched_pid" || kill -TERM "$watched_pid"
        sleep 2
        kill -KILL "-$watched_pid" || kill -KILL "$watched_pid"
    ) >/dev/null 2>&1 &
    guard=$!
    wait "$watched_pid"
    kept=$?
    if [ "$kept" = 143 ]; then
        kept=124
        kill -KILL "-$watched_pid" 2>/dev/null
    fi
    kill "$guard" 2>/dev/null
    return "$kept"
}

# alarm SECONDS: say `late` on descriptor 3 then. A process that sits in the kernel (a GPU driver, a dead NFS
# server) outlives even SIGKILL and makes `timeout` wait for it: the whole must not.
alarm() {
    pause "$1"
    echo late >&3
}

# pause SECONDS: in short steps, so that killing who waits leaves nothing behind for longer than a second.
pause() {
    left=$1
    while [ "$left" -gt 0 ]; do
        sleep 1
        left=$((left - 1))
    done
}

started=0
if ! folder=$(private_folder); then
    echo 'no folder takes a temporary file: tried /dev/shm, XDG_RUNTIME_DIR, TMPDIR, /tmp, /var/tmp and HOME' >&2
    exit 74
fi
case $(timeout --version 2>/dev/null) in
*coreutils*) keeper=timed ;;
*) keeper=watched ;;
esac
leader=
! command -v setsid >/dev/null 2>&1 || leader=setsid
trap clean_up EXIT
trap 'exit 129' HUP INT TERM
cd "$folder" || exit 74
# bash writes a here-document to a file first, and tools that are killed leave their own behind.
mkdir .tmp && TMPDIR=$folder/.tmp
export TMPDIR
mkfifo .ended && exec 3<>.ended
read -r mark </proc/sys/kernel/random/uuid
