# shellcheck shell=sh
# What every section is made of. Sections run in the private folder of begin.sh.

# item NAME COMMAND...: keep its stdout, stderr and exit status for the answer.
item() {
    item_name=$section.$1
    shift
    "$@" >"$item_name.out" 2>"$item_name.err"
    printf '%s %s\n' "$item_name" "$?" >>"$section.status"
}

# page NAME KEY COMMAND...: the next of several items of one kind; its first line is KEY.
page() {
    page_number=$((page_number + 1))
    page_name=$1.$page_number
    page_key=$2
    shift 2
    item "$page_name" keyed "$page_key" "$@"
}

keyed() {
    printf '%s\n' "$1"
    shift
    "$@"
}

# values FILE...: every line of those that can be read, as `path:line`. Not the shell's own `read`: dash takes one byte at
# a time, which CPU lists of the kernel do not allow.
values() {
    grep -a -s '' /dev/null "$@" || true
}

# A lab host says so in /etc/bringup-lab and has its own hardware tree; elsewhere $sysroot is empty.
lab_settings() {
    sysroot=
    lab_allowed=
    [ -r /etc/bringup-lab ] || return 0
    while IFS='=' read -r key value; do
        case $key in
        sysroot) sysroot=$value ;;
        allowed) lab_allowed=$value ;;
        esac
    done </etc/bringup-lab
}

# all_sections NAME...: each beside the others, with its exit status in NAME.end, last.
all_sections() {
    for section in "$@"; do
        (
            ("section_$section") 2>"$section.end.err"
            printf '%s\n' "$?" >"$section.end"
        ) &
    done
    wait
}

# A tool that prints without end must not fill the memory of the host: 512-byte blocks, 16 MiB an item.
# bash counts in KiB: twice that.
ulimit -f 32768
page_number=0
lab_settings
printf '%s\n' "$PPID" >".$1.group"
