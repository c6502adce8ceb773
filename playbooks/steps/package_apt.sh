# shellcheck shell=sh disable=SC2154
# The half of the step `package` that Debian's family has, behind package.sh.

# `NAME WANT STATUS VERSION` of each package that is known.
apt_known() { dpkg-query -W -f '${binary:Package} ${db:Status-Want} ${db:Status-Status} ${Version}\n' "$@" 2>/dev/null; }

# apt_newer INSTALLED PLANNED: of the planned one, the beginning may be all that is known.
apt_newer() { [ -n "$2" ] && dpkg --compare-versions "$1" gt "${2%-}"; }

# Packages that somebody left half done. What was cut off in our own hands is ours to finish.
apt_broken() {
  if [ -e "$unfinished/apt" ]; then return 0; fi
  broken=$(dpkg --audit 2>/dev/null | sed -n 's/^ \([a-z0-9][^ ]*\) .*/\1/p' | head -n 5 | tr '\n' ' ')
  if [ -n "$broken" ]; then printf 'package-manager-broken %s' "$broken"; fi
}

install_apt() {
  export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
  pairs=$*
  options='-y --no-install-recommends --allow-change-held-packages -o DPkg::Lock::Timeout=60'
  options="$options -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold"
  options="$options -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o Acquire::Retries=3"
  if [ -e "$unfinished/apt" ]; then finish_apt; fi
  if ! all_in_index "$@"; then
    # shellcheck disable=SC2086
    run_manager apt-get update $options
    all_in_index "$@" || outcome package-version-missing "$missing; there is: $(there "$missing")"
  fi
  if [ "$removes" = no ]; then options="$options --no-remove"; fi
  if [ "$downgrade" = yes ]; then options="$options --allow-downgrades"; fi
  # shellcheck disable=SC2046,SC2086  # names and versions have no blanks
  set -- $(specs '=' $pairs)
  rehearse "$@"
  # shellcheck disable=SC2086
  run_marked apt-get install $options -- "$@"
  if [ "$hold" = yes ]; then
    # shellcheck disable=SC2046,SC2086
    apt-mark hold $(names $pairs)
    # shellcheck disable=SC2086
    record_holds $pairs
  fi
}

# With a mark for as long as it is not done: it stays where we are killed, or the disk is full.
run_marked() {
  mkdir -p -- "$unfinished"
  : >"$unfinished/apt"
  status=0
  show "$@" || status=$?
  if [ "$status" = 0 ] || ! grep -q 'No space left' "$said"; then rm -f -- "$unfinished/apt"; fi
  if [ "$status" != 0 ]; then give_up "$status"; fi
}

finish_apt() {
  echo 'an installation of ours was cut off: finishing it'
  run_marked dpkg --configure -a --force-confdef --force-confold
  # shellcheck disable=SC2086
  run_marked apt-get -f install $options
}

# What would be done, before it is: nothing of others goes or changes against their hold, and there is room for it.
rehearse() {
  # shellcheck disable=SC2086
  LC_ALL=C run_manager apt-get install -s $options -- "$@"
  went=
  # shellcheck disable=SC2013
  for one in $(sed -n 's/^Remv \([^ ]*\).*/\1/p' "$said"); do may_go "$one" || went="$went $one"; done
  if [ -n "$went" ]; then outcome package-conflict "these would have to go:$went"; fi
  held=" $(apt-mark showhold | tr '\n' ' ') "
  # shellcheck disable=SC2013
  for one in $(sed -n 's/^\(Inst\|Remv\) \([^ ]*\) \[.*/\2/p' "$said"); do
    case $held in *" $one "*) if [ ! -e "$holds/$one" ]; then outcome package-held "$one would change, and is on hold"; fi ;; esac
  done
  need_room "$@"
}

# shellcheck disable=SC2254  # patterns
may_go() { for pattern in $removable; do case $1 in $pattern) return 0 ;; esac; done; return 1; }

# `Need to get 12.3 MB/45 MB of archives.` and `After this operation, 1,234 kB of additional disk space will be used.`
need_room() {
  # shellcheck disable=SC2086
  LC_ALL=C apt-get install --assume-no $options -- "$@" >"$said" 2>&1 </dev/null || :
  roomy /var/cache/apt/archives "$(sed -n 's/^Need to get \([0-9.,]* [kMG]*B\).*/\1/p' "$said")" downloads
  roomy /usr "$(sed -n 's/^After this operation, \([0-9.,]* [kMG]*B\) of additional.*/\1/p' "$said")" packages
}

# roomy PATH SIZE WHAT
roomy() {
  wanted=$(printf '%s' "$2" | tr -d , | awk '{ k["B"] = 1 / 1024; k["kB"] = 1; k["MB"] = 1e3; k["GB"] = 1e6; printf "%d", $1 * k[$2] + 1 }')
  free=$(df -kP -- "$1" | awk 'NR == 2 { print $4 }')
  if [ -n "$2" ] && [ "${free:-0}" -lt "$wanted" ]; then
    outcome package-no-space "$3 need $2 below $1, there are $free kB"
  fi
}

# The first one that no index has is left in `missing`.
all_in_index() {
  while [ $# -gt 1 ]; do
    missing=$1
    if [ "$2" = '=any' ] || [ "$2" = '*' ]; then
      apt-cache show -- "$1" >/dev/null 2>&1 || return 1
    else
      missing="$1=$2"
      apt-cache madison -- "$1" 2>/dev/null | version=$2 awk '
        function fits(wanted) {
          if (wanted !~ /[*]$/) return $3 == wanted
          return index($3, substr(wanted, 1, length(wanted) - 1)) == 1
        }
        fits(ENVIRON["version"]) { found = 1 }
        END { exit !found }' || fits "$2" "$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null)" || return 1
    fi
    shift 2
  done
}

there() { apt-cache madison -- "${1%%=*}" 2>/dev/null | awk '{ print $3 }' | head -n 5 | tr '\n' ' '; }
