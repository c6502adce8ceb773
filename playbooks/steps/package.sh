# shellcheck shell=sh disable=SC2154
# Functions of the step `package`, behind those of package_manager.sh; it sets hold, removes and holds (the folder of
# bringup's own records). Arguments are pairs of a name and a version, `=any` for any.

# `NAME WANT STATUS VERSION` of each package that is known.
apt_known() { dpkg-query -W -f '${binary:Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' "$@" 2>/dev/null; }

dnf_known() {
  locked=" $(tr '\n' ' ' 2>/dev/null </etc/dnf/plugins/versionlock.list) "
  rpm -q --qf '%{NAME} %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n' "$@" 2>/dev/null | while read -r name version; do
    case $version in *installed*) continue ;; esac
    case $locked in *" $name-"*) want=hold ;; *) want=install ;; esac
    printf '%s %s installed %s\n' "$name" "$want" "$version"
  done
}

names() { while [ $# -gt 1 ]; do printf '%s\n' "$1"; shift 2; done; }

packages_state() {
  manager=$(manager)
  if [ "$manager" = none ]; then printf 'refused no-package-manager %s' "$(uname -sr)"; return 0; fi
  # shellcheck disable=SC2046  # names have no blanks
  known=$("${manager}_known" $(names "$@"))
  states='' off=no
  while [ $# -gt 1 ]; do
    one=$(state_of "$1" "$2")
    case $one in refused*) printf '%s' "$one"; return 0 ;; esac
    states="$states $1=$one"
    case $one in "$2" | "$2+held" | installed | installed+held) ;; *) off=yes ;; esac
    shift 2
  done
  if [ "$off" = yes ] && [ "$manager" = apt ]; then
    broken=$(dpkg --audit 2>/dev/null | sed -n 's/^ \([a-z0-9][^ ]*\) .*/\1/p' | head -n 5 | tr '\n' ' ')
    if [ -n "$broken" ]; then printf 'refused package-manager-broken %s' "$broken"; return 0; fi
  fi
  printf '%s' "${states# }"
}

# state_of NAME VERSION, from $known: its version (`installed` where any will do), and whether it is held.
state_of() {
  line=$(printf '%s\n' "$known" | name=$1 awk '$1 == ENVIRON["name"] || index($1, ENVIRON["name"] ":") == 1 { print; exit }')
  # shellcheck disable=SC2086  # words
  set -- "$1" "$2" $line
  want=${4:-unknown} status=${5:-not-installed} version=${6:-}
  case $status in
  installed) ;;
  not-installed | config-files) printf none; return ;;
  *) printf '%s' "$status"; return ;;
  esac
  if [ "$2" != '=any' ] && [ "$2" != "$version" ] && [ "$want" = hold ] && [ ! -e "$holds/$1" ]; then
    printf 'refused package-held %s %s, planned is %s' "$1" "$version" "$2"
    return
  fi
  if [ "$2" = '=any' ]; then version=installed; fi
  if [ "$hold" = yes ] && [ "$want" = hold ]; then printf '%s+held' "$version"; else printf '%s' "$version"; fi
}

install_packages() {
  wait_until_free
  said=$(mktemp)
  trap 'rm -f -- "$said"' EXIT
  "install_$(manager)" "$@"
}

install_apt() {
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
  broken=$(dpkg --audit 2>/dev/null | sed -n 's/^ \([a-z0-9][^ ]*\) .*/\1/p' | head -n 5 | tr '\n' ' ')
  if [ -n "$broken" ]; then outcome package-manager-broken "$broken"; fi
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

record_holds() {
  mkdir -p -- "$holds"
  while [ $# -gt 1 ]; do printf '%s\n' "$2" >"$holds/$1"; shift 2; done
}

# specs SEPARATOR NAME VERSION...: as the manager takes them, one a line.
specs() {
  separator=$1
  shift
  while [ $# -gt 1 ]; do
    if [ "$2" = '=any' ]; then printf '%s\n' "$1"; else printf '%s%s%s\n' "$1" "$separator" "$2"; fi
    shift 2
  done
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

install_dnf() {
  pairs=$*
  if [ "$hold" = yes ] && [ ! -d /etc/dnf/plugins ]; then outcome versionlock-missing 'no /etc/dnf/plugins'; fi
  # A lock of ours on the older version would stand in the way.
  # shellcheck disable=SC2086
  for name in $(names $pairs); do
    if [ -e "$holds/$name" ]; then dnf -q versionlock delete "$name" >/dev/null 2>&1 || :; fi
  done
  set -- dnf -y --setopt=install_weak_deps=False --setopt=exit_on_lock=0 install --
  # shellcheck disable=SC2086
  for word in $(specs '-' $pairs); do set -- "$@" "$word"; done
  run_manager "$@"
  if [ "$hold" = yes ]; then
    # shellcheck disable=SC2046,SC2086
    dnf -q versionlock add $(specs '-' $pairs) || outcome versionlock-missing 'dnf versionlock failed'
    # shellcheck disable=SC2086
    record_holds $pairs
  fi
}
