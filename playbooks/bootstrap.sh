#!/bin/sh
# Set up bringup on a fresh Debian or Ubuntu, then deploy or test. Everything but Debian packages stays in this folder.
#
#   sh playbooks/bootstrap.sh deploy [FLAGS]        bring the embedded tiny model up on this machine (real vLLM, no GPU)
#   sh playbooks/bootstrap.sh test [PYTEST FLAGS]   run the test suite
set -eu
cd "$(dirname -- "$0")/.."

# Commands that the tests need, and the Debian package of each.
TEST_TOOLS='ssh:openssh-client sshd:openssh-server ip:iproute2 mount:mount nft:nftables unshare:util-linux
shellcheck:shellcheck busybox:busybox numactl:numactl ps:procps systemctl:systemd gpg:gpg
dnf:dnf dnf:dnf-plugins-core createrepo_c:createrepo-c rpmbuild:rpm'

say() { printf 'bootstrap: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 2
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Install Debian packages, or say which are missing and fail.
need_packages() {
    if ! can_install; then
        die "missing: $*; type: sudo apt-get update && sudo apt-get install --yes --no-install-recommends $*"
    fi
    say "installing Debian packages: $* (about 1 minute)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >&2 || say "the package lists could not be refreshed; going on with the old ones"
    apt-get install --yes -qq --no-install-recommends "$@" </dev/null >&2 ||
        die "apt-get could not install: $*; its own words are above"
}

# The first Python >= 3.11 that really runs, by its full path. Shims of version managers may be there and not work.
find_python() {
    for name in python3 python3.13 python3.12 python3.11 python3.14; do
        "$name" -c 'import sys; sys.version_info < (3, 11) and sys.exit(1); print(sys.executable)' 2>/dev/null &&
            return
    done
    return 1
}

# uv: the one on PATH, or one in a folder of ours. Debian's own Python is never written to.
find_uv() {
    for candidate in uv .bringup/tools/bin/uv; do
        if "$candidate" --version >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    "$UV_PYTHON" -c 'import ensurepip, venv' 2>/dev/null || need_packages python3-venv
    say "installing uv into .bringup/tools (about 20 seconds)"
    "$UV_PYTHON" -m venv --clear .bringup/tools >&2 || die "$UV_PYTHON cannot make a virtual environment"
    .bringup/tools/bin/python -m pip install --quiet --disable-pip-version-check uv >&2 ||
        die "uv could not be installed: is a package index or mirror reachable (PIP_INDEX_URL, proxies)?"
    printf '%s\n' .bringup/tools/bin/uv
}

# Exactly what uv.lock says, from the cache when the index cannot be reached. uv brings certificates of its own; those
# of the system also know a company's proxy.
sync_packages() (
    system_certificates=/etc/ssl/certs/ca-certificates.crt
    [ ! -r "$system_certificates" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$system_certificates}"
    say "installing the locked Python packages into .venv (about 1 minute the first time)"
    "$UV" sync --frozen --quiet --compile-bytecode "$@" && return
    say "the package index did not answer; trying again from uv's cache alone"
    "$UV" sync --frozen --quiet --compile-bytecode --offline "$@" ||
        die "the packages of uv.lock could not be installed: is an index or mirror reachable (UV_DEFAULT_INDEX)?"
)

set_up() {
    # Never another Python than the machine's own, never somebody else's active environment.
    unset VIRTUAL_ENV
    UV_PYTHON=$(find_python) || die "Python >= 3.11 is missing; on Debian 12 or Ubuntu 24.04: apt-get install python3"
    export UV_PYTHON UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
    say "using $UV_PYTHON"
    UV=$(find_uv)
    sync_packages "$@"
}

deploy() {
    set_up --no-dev --inexact
    say "deploying tiny-dense to this machine: random weights are made here, vLLM's CPU build is installed once"
    say "  (3.5 GB on disk, 3 to 10 minutes; the next time it is there and about 1 minute is enough)"
    exec "$UV" run --no-sync invoke deploy --model tiny-dense --hosts local "$@"
}

missing_test_packages() {
    for tool in $TEST_TOOLS; do
        command -v "${tool%%:*}" >/dev/null || printf '%s\n' "${tool##*:}"
    done
}

test_suite() {
    PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
    missing=$(missing_test_packages | tr '\n' ' ')
    # shellcheck disable=SC2086  # a list of package names
    [ -z "$missing" ] || need_packages $missing
    set_up
    # sshd wants this folder; Debian makes it when its service starts, which it need not do here.
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    if [ $# -gt 0 ]; then
        exec "$UV" run --no-sync pytest "$@"
    fi
    say "running the tests: first those that want the machine for themselves, then the others side by side"
    say "  (10 to 25 minutes on 2 cores)"
    alone=0
    "$UV" run --no-sync pytest -m serial || alone=$?
    together=0
    "$UV" run --no-sync pytest -m 'not serial' -n auto --maxprocesses 8 --dist loadfile || together=$?
    # 5: no test of the kind, which is a failure only for both.
    [ "$alone" = 0 ] || [ "$alone" = 5 ] || exit "$alone"
    exit "$together"
}

verb=${1:-}
[ $# = 0 ] || shift
case $verb in
    deploy) deploy "$@" ;;
    test) test_suite "$@" ;;
    *) die "usage: sh playbooks/bootstrap.sh deploy|test" ;;
esac
