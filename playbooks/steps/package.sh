# shellcheck shell=sh disable=SC2154
# Functions of the step `package`, behind those of package_manager.sh; what only apt or dnf does is in the files beside.
# It sets hold, removes, removable (patterns of names), downgrade, along (pairs as well), holds (the folder of bringup's
# own records) and unfinished (one of marks). Arguments are pairs of a name and a version: `=any` and `*` for any, or its
# beginning and *.

names() { while [ $# -gt 1 ]; do printf '%s\n' "$1"; shift 2; done; }

# fits WANTED VERSION
fits() {
  case $1 in
  '=any') ;;
  *'*') case $2 in "${1%'*'}"*) ;; *) return 1 ;; esac ;;
  *) [ "$1" = "$2" ] ;;
  esac
}

packages_state() {
  manager=$(manager)
  if [ "$manager" = none ]; then printf 'refused no-package-manager %s' "$(uname -sr)"; return 0; fi
  named=$(names "$@")
  # shellcheck disable=SC2086  # names have no blanks
  known=$("${manager}_known" $named)
  states='' off=no
  while [ $# -gt 1 ]; do
    one=$(state_of "$1" "$2")
    case $one in refused*) printf '%s' "$one"; return 0 ;; esac
    states="$states $1=$one"
    case $one in "$2" | "$2+held" | installed | installed+held) ;; *) off=yes ;; esac
    shift 2
  done
  if [ "$off" = yes ] || [ "$manager" = dnf ]; then
    # shellcheck disable=SC2086
    broken=$("${manager}_broken" $named)
    if [ -n "$broken" ]; then printf 'refused %s' "$broken"; return 0; fi
  fi
  printf '%s' "${states# }"
}

# state_of NAME VERSION, from $known: its version (`installed` where any will do), and whether it is held. Of several
# installed ones (kernel-devel) the wanted one counts.
state_of() {
  line=$(printf '%s\n' "$known" | name=$1 version=$2 awk '
    $1 == ENVIRON["name"] || index($1, ENVIRON["name"] ":") == 1 {
      if (!found || $4 == ENVIRON["version"]) line = $0
      found = 1
    }
    END { if (found) print line }')
  # shellcheck disable=SC2086  # words
  set -- "$1" "$2" $line
  want=${4:-unknown} status=${5:-not-installed} version=${6:-}
  case $status in
  installed) ;;
  not-installed | config-files) printf none; return ;;
  *) printf '%s' "$status"; return ;;
  esac
  if fits "$2" "$version"; then
    if [ "$2" = '=any' ]; then version=installed; else version=$2; fi
  elif [ "$want" = hold ] && [ ! -e "$holds/$1" ]; then
    printf 'refused package-held %s %s, planned is %s' "$1" "$version" "$2"
    return
  elif [ "$downgrade" = no ] && "${manager}_newer" "$version" "${2%'*'}"; then
    printf 'refused package-downgrade %s %s, planned is %s' "$1" "$version" "$2"
    return
  fi
  if [ "$hold" = yes ] && [ "$want" = hold ]; then printf '%s+held' "$version"; else printf '%s' "$version"; fi
}

install_packages() {
  said=$(mktemp)
  trap 'rm -f -- "$said"' EXIT
  manager=$(manager)
  wait_until_free
  # shellcheck disable=SC2046
  broken=$("${manager}_broken" $(names "$@"))
  if [ -n "$broken" ]; then outcome "$broken"; fi
  set -f # versions that end in * are no files
  # shellcheck disable=SC2046,SC2086
  set -- "$@" $(along_there $along)
  "install_$manager" "$@"
}

# Of pairs, those whose package is installed: another step wants it, and its relations may allow no way by itself.
along_there() {
  while [ $# -gt 1 ]; do
    if "${manager}_known" "$1" | grep -q ' installed '; then printf '%s %s\n' "$1" "$2"; fi
    shift 2
  done
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
    if [ "$2" = '=any' ] || [ "$2" = '*' ]; then printf '%s\n' "$1"; else printf '%s%s%s\n' "$1" "$separator" "$2"; fi
    shift 2
  done
}
