# shellcheck shell=sh
section_software() {
    item systemd systemctl --version
    item systemd-state systemd_state
    item python python3 --version
    item uv uv --version
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
    item podman podman version --format '{{.Client.Version}}'
    item docker docker version --format '{{.Server.Version}}'
}
