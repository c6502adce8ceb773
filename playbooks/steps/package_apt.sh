# shellcheck shell=sh disable=SC2154
# The half of the step `package` that Debian's family has, behind package.sh.

# `NAME WANT STATUS VERSION` of each package that is known.
apt_known() { dpkg-query -W -f '${binary:Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' "$@" 2>/dev/null; }

# Packages that an earlier installation left half done.
apt_broken() {
  broken=$(dpkg --audit 2>/dev/null | sed -n 's/^ \([a-z0-9][^ ]*\) .*/\1/p' | head -n 5 | tr '\n' ' ')
  if [ -n "$broken" ]; then printf 'package-manager-broken %s' "$broken"; fi
}

install_apt() {
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
  pairs=$*
  if ! all_in_index "$@"; then
    run_manager apt-get update -o DPkg::Lock::Timeout=60
    all_in_index "$@" || outcome package-version-missing "$missing; there is: $(there "$missing")"
  fi
  options='-y --no-install-recommends --allow-downgrades --allow-change-held-packages -o DPkg::Lock::Timeout=60'
  options="$options -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
  if [ "$removes" = no ]; then options="$options --no-remove"; fi
  set --
  # shellcheck disable=SC2086  # names and versions have no blanks
  for word in $(specs '=' $pairs); do set -- "$@" "$word"; done
  # shellcheck disable=SC2086
  run_manager apt-get install $options -- "$@"
  if [ "$hold" = yes ]; then
    # shellcheck disable=SC2046,SC2086
    apt-mark hold $(names $pairs)
    # shellcheck disable=SC2086
    record_holds $pairs
  fi
}

# The first one that no index has is left in `missing`.
all_in_index() {
  while [ $# -gt 1 ]; do
    missing=$1
    if [ "$2" = '=any' ]; then
      apt-cache show -- "$1" >/dev/null 2>&1 || return 1
    else
      missing="$1=$2"
      apt-cache madison -- "$1" 2>/dev/null | version=$2 awk '$3 == ENVIRON["version"] { found = 1 } END { exit !found }' ||
        [ "$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null)" = "$2" ] || return 1
    fi
    shift 2
  done
}

there() { apt-cache madison -- "${1%%=*}" 2>/dev/null | awk '{ print $3 }' | head -n 5 | tr '\n' ' '; }
