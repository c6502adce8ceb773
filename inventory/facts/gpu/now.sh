# shellcheck shell=sh
# What GPUs do at this moment: short questions with their own deadlines, for a look at what runs. No facts are made of it.

# gpu_processes: `PID BUS-ADDRESS` of every process that holds memory of a GPU, a line each (`PID -` where the tool does
# not tell which GPU). Fails when there is a driver that does not answer.
gpu_processes() {
    if command -v nvidia-smi >/dev/null 2>&1; then
        gp_told=$(timeout -k 2 8 nvidia-smi --query-compute-apps=pid,gpu_bus_id --format=csv,noheader) || return 1
        printf '%s\n' "$gp_told" | sed -n 's/^ *\([0-9][0-9]*\), *\([0-9A-Fa-f:.]*\).*/\1 \2/p'
    elif [ -d /sys/class/kfd/kfd/proc ]; then
        find /sys/class/kfd/kfd/proc -mindepth 1 -maxdepth 1 2>/dev/null | sed -n 's,.*/\([0-9][0-9]*\)$,\1 -,p'
    fi
}

# gpu_activity: `INDEX UTILISATION% MEMORY-UTILISATION% WATT` of each GPU, a line each; `-` for what is not told.
gpu_activity() {
    if command -v nvidia-smi >/dev/null 2>&1; then
        timeout -k 2 8 nvidia-smi --query-gpu=index,utilization.gpu,utilization.memory,power.draw \
            --format=csv,noheader,nounits | sed 's/\[[^]]*\]/-/g; s/ *, */ /g'
    else
        for ga_busy in /sys/class/drm/card*/device/gpu_busy_percent; do
            [ -r "$ga_busy" ] || continue
            ga_card=${ga_busy#/sys/class/drm/card}
            printf '%s %s - -\n' "${ga_card%%/*}" "$(cat "$ga_busy")"
        done
    fi
}

# gpu_driver: the version of the loaded driver, `-` without one.
gpu_driver() {
    sed -n 's/^NVRM version:.* \([0-9][0-9]*\.[0-9][0-9.]*\) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null | head -n 1 |
        grep . || cat /sys/module/amdgpu/version 2>/dev/null || printf -- '-\n'
}
