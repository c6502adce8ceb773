# shellcheck shell=sh
# The second opinion on cores and CPU flags: psutil and py-cpuinfo, asked in the newest environment that bringup made.
# Needs: state_dir, opinion_program, asked_pythons.
section_opinion() {
    # On a lab host they would tell of the machine that carries the lab.
    [ -z "$sysroot" ] || return 0
    item flags cpu_flags
    asked_pythons opinion_of
    # shellcheck disable=SC2012  # paths of ours; find has no order
    marker=$(ls -t "$state_dir"/envs/*/bringup-env.json 2>/dev/null | head -n 1)
    [ -z "$marker" ] || opinion_of "${marker%/*}/bin/python"
}

cpu_flags() {
    grep -a -m 1 -E '^(flags|Features|isa)[[:space:]]*:' /proc/cpuinfo
}

opinion_of() {
    page python "$1" "$1" -I -B -c "$opinion_program"
}
