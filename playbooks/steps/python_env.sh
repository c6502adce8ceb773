# shellcheck shell=sh disable=SC2154
# Functions of the step `python_env`, which sets env_dir, requires_python, minors, needs_headers, wheelhouse,
# python_archive, python_mirror, index and torch_index before them. With a wheelhouse nothing is asked outside the host.
# All of it runs under set -eu.

refuse() { printf '%s\n' "$@" >&2; exit 1; }

# Whether this interpreter can carry the environment; prints its own full path, never that of a shim or of another
# environment.
usable_python() {
  "$1" - "$needs_headers" "$minors" <<'EOF' 2>/dev/null
import os, sys, sysconfig
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info[0] != 3 or str(sys.version_info[1]) not in sys.argv[2].split():
    sys.exit(1)
if sys.argv[1] == "yes" and not os.path.exists(headers):
    sys.exit(1)
print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
EOF
}

# The system's own Python first: one below a home directory may go away with the user.
find_python() {
  # shellcheck disable=SC2086,SC2046  # numbers, and names made of them
  for candidate in /usr/bin/python3 python3 $(printf 'python3.%s ' $minors); do
    usable_python "$candidate" && return 0
  done
  return 1
}

# The Python of the wheelhouse: a build that is complete in one folder. It stays beside the environments that are made
# of it, whatever becomes of the wheelhouse, and has its final name only when it is whole.
unpack_python() {
  pythons="${env_dir%/envs/*}/pythons"
  ours="$pythons/${python_archive%.tar.gz}"
  if [ ! -e "$ours/bin/python3" ]; then
    mkdir -p -- "$pythons"
    rm -rf -- "$pythons"/.new.*
    new=$(mktemp -d "$pythons/.new.XXXXXX")
    tar --no-same-owner -xzf "$wheelhouse/$python_archive" -C "$new"
    mv -T -- "$new/python" "$ours"
    rmdir -- "$new"
  fi
  usable_python "$ours/bin/python3"
}

# The uv of the wheelhouse, whatever else is on the host: it is the one that is pinned. A wheel is a zip file.
unpack_uv() {
  "$python" - "$wheelhouse" "${env_dir%/envs/*}/tools/bin" <<'EOF'
import os, pathlib, sys, zipfile, zlib
target = pathlib.Path(sys.argv[2])
for wheel in sorted(pathlib.Path(sys.argv[1]).glob("uv-*.whl"))[:1]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".data/scripts/uv"))
        target.mkdir(parents=True, exist_ok=True)
        for left in target.glob("uv.*"):  # where a disk was full, or the power went: as large as uv itself
            left.unlink()
        if (target / "uv").is_file() and zlib.crc32((target / "uv").read_bytes()) == archive.getinfo(name).CRC:
            print(target / "uv")
            break
        new = target / f"uv.{os.getpid()}"
        new.write_bytes(archive.read(name))
        new.chmod(0o755)
        new.replace(target / "uv")
        print(target / "uv")
EOF
}

find_uv() {
  for candidate in ${UV:+"$UV"} uv "${HOME:-/}/.local/bin/uv" "${env_dir%/envs/*}/tools/bin/uv"; do
    if "$candidate" --version >/dev/null 2>&1; then printf '%s' "$candidate"; return 0; fi
  done
  return 1
}

# What pip is set to on this host (pip.conf): uv does not read it. A call of pip takes up to a second, so few are made.
read_pip_settings() {
  for pip in pip pip3 'python3 -m pip' "$python -m pip"; do
    if pip_settings=$($pip config list 2>/dev/null); then return 0; fi
  done
  pip_settings=
}

pip_setting() {
  case $pip_settings in *"global.$1="*) $pip config get "global.$1" ;; esac
}

use_uv() {
  if [ -n "$wheelhouse" ]; then
    # Beside the environment, so that unpacked files are linked into it; a cache elsewhere would be a second copy.
    export UV_CACHE_DIR="$env_dir.cache" UV_OFFLINE=1 UV_PYTHON_DOWNLOADS=never
    "$uv" venv --quiet --no-config --relocatable --python "$python" "$env_dir"
    return
  fi
  # The certificates of the system also know a company's proxy; uv brings its own.
  system_certificates=/etc/ssl/certs/ca-certificates.crt
  if [ -z "${SSL_CERT_FILE:-}" ] && [ -r "$system_certificates" ]; then export SSL_CERT_FILE="$system_certificates"; fi
  # Every package of the lock has its hash, so it does not matter which of several indexes has it.
  export UV_INDEX_STRATEGY=unsafe-best-match
  read_pip_settings
  set_unless_empty UV_DEFAULT_INDEX "${index:-${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$(pip_setting index-url)}}}" ' '
  set_unless_empty UV_INDEX "${UV_INDEX:-${PIP_EXTRA_INDEX_URL:-$(pip_setting extra-index-url)}}" ' '
  set_unless_empty UV_FIND_LINKS "${UV_FIND_LINKS:-${PIP_FIND_LINKS:-$(pip_setting find-links)}}" ,
  if [ -n "$python" ]; then
    "$uv" venv --quiet --no-config --relocatable --python "$python" "$env_dir"
  else
    set_unless_empty UV_PYTHON_INSTALL_MIRROR "${python_mirror:-${UV_PYTHON_INSTALL_MIRROR:-}}" ' '
    "$uv" venv --quiet --no-config --relocatable --managed-python --python "$requires_python" "$env_dir"
  fi
}

# Variable, value, separator: uv takes an empty value for a wrong one; pip separates by blanks and line ends.
set_unless_empty() {
  if [ -n "$2" ]; then export "$1=$(printf '%s' "$2" | tr -s ' \n' "$3$3")"; fi
}

use_pip() {
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "neither uv nor Python's venv is there" "next: install uv, or the package python3-venv"
  if [ -n "$index" ]; then export PIP_INDEX_URL="$index"; fi
  if [ -n "$wheelhouse" ]; then export PIP_CONFIG_FILE=/dev/null; fi
  "$python" -m venv "$env_dir"
}

# Wheels only: a host that is too old for one is told so, and does not begin to compile.
install() {
  if [ -n "$wheelhouse" ]; then set -- --no-index --find-links "$wheelhouse" "$@"; fi
  if [ -n "$uv" ]; then
    "$uv" pip install --quiet --no-config --python "$env_dir/bin/python" --no-deps --only-binary :all: --compile-bytecode "$@"
  else
    "$env_dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: "$@"
  fi
}

leave_nothing() { rm -rf -- "$work" "$env_dir.cache"; }

begin() {
  unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE VIRTUAL_ENV UV_PYTHON UV_PROJECT_ENVIRONMENT
  python=$(find_python) || python=
  if [ -z "$python" ] && [ -n "$python_archive" ]; then
    python=$(unpack_python) || refuse "the Python that came with the wheels does not run here: $python_archive" \
      "next: on the host: ${env_dir%/envs/*}/pythons/${python_archive%.tar.gz}/bin/python3 --version"
  fi
  if [ -n "$wheelhouse" ]; then
    [ -n "$python" ] || refuse "no Python 3.$minors is there, and a host without internet cannot fetch one" \
      "next: install python3.$minors (with its headers, python3.$minors-dev, for GPUs)"
    uv=$(unpack_uv)
  else
    uv=$(find_uv) || uv=
  fi
  [ -n "$python$uv" ] || refuse "no Python 3 of minor version $minors is there, and no uv that could fetch one" \
    "next: install python3 (with its headers, python3-dev, for GPUs) or uv"
  work=$(mktemp -d)
  trap leave_nothing EXIT
  # Only what is not complete gets here: a run that was cut off left it.
  rm -rf -- "$env_dir"
  mkdir -p -- "$(dirname -- "$env_dir")"
  if [ -n "$uv" ]; then use_uv; else use_pip; fi
  site_packages=$("$env_dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
}

install_locked() { install --require-hashes -r "$1"; }

install_apart() {
  if [ -n "$torch_index" ]; then set -- "$@" --index-url "$torch_index"; fi
  install "$@" || refuse "the packages that are not on the common index were not found: $1" \
    "next: name an index of PyTorch's own wheels in the inventory (mirrors: torch:), or a folder of them in pip's find-links"
}

# One file below site-packages, base64 on stdin.
add() {
  mkdir -p -- "$site_packages/$(dirname -- "$1")"
  base64 -d >"$site_packages/$1"
}

# An import of all that the engine's command line needs, with the environment that ranks have: none.
prove() {
  said=$(env -i HOME="$work" PATH=/usr/bin:/bin VLLM_NO_USAGE_STATS=1 "$env_dir/bin/$1" --version 2>"$work/said") ||
    said='nothing, but ended with an error'
  if [ "${said##*
}" != "$2" ]; then
    tail -n 15 "$work/said" >&2
    refuse "$1 does not work in the new environment: asked for its version it says $said, not $2"
  fi
}

mark_complete() {
  printf '%s\n' "$1" >"$env_dir/bringup-env.json.new"
  mv -- "$env_dir/bringup-env.json.new" "$env_dir/bringup-env.json"
}
