# shellcheck shell=sh
# Every path is looked at beside the others: one on a dead NFS server costs only itself (and this section's time).
section_disks() {
    item mounts cat /proc/self/mountinfo
    item asked asked_paths line_of
    item blocks block_devices &
    disk_number=0
    asked_paths look_at
    wait
}

# JSON is unknown to lsblk before 2.27.
block_devices() {
    lsblk -J -b -o NAME,TYPE,SIZE,ROTA,FSTYPE,MOUNTPOINT || lsblk -P -b -o NAME,TYPE,SIZE,ROTA,FSTYPE,MOUNTPOINT,PKNAME
}

line_of() {
    printf '%s\n' "$1"
}

look_at() {
    disk_number=$((disk_number + 1))
    item "path.$disk_number" keyed "$1" disk_of "$1" &
}

# disk_of PATH: what holds PATH, or would: its deepest folder that exists.
disk_of() {
    existing=$1
    while [ -n "$existing" ] && [ ! -e "$existing" ]; do
        existing=${existing%/*}
    done
    existing=${existing:-/}
    if [ -w "$existing" ]; then writable=yes; else writable=no; fi
    printf '%s\n%s\n' "$existing" "$writable"
    df -P -k "$existing"
    df -P -i "$existing" 2>/dev/null || true
}
