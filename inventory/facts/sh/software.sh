# shellcheck shell=sh
section_software() {
    item pip python3 -c 'import pip; print("pip", pip.__version__)' &
    item systemd systemctl --version
    item systemd-state systemd_state
    item python python3 --version
    item uv uv --version
    item compilers compilers
    wait
}

# What builds kernels when a rank starts.
compilers() {
    PATH="$PATH:/usr/local/cuda/bin"
    for compiler in nvcc hipcc cc c++ ninja; do
        command -v "$compiler" || true
    done
}

# systemd_state: `running`, `degraded`, ... only where systemd is PID 1.
systemd_state() {
    if [ -d /run/systemd/system ]; then
        systemctl is-system-running || true
    else
        echo offline
    fi
}

# A container service that hangs must not hide the rest.
section_containers() {
    item cdi cdi_specs
    item podman podman version --format '{{.Client.Version}}'
}

# The files that describe devices to container engines.
cdi_specs() {
    for spec in /etc/cdi/* /var/run/cdi/*; do
        [ ! -f "$spec" ] || printf '%s\n' "$spec"
    done
}
