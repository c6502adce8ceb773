# shellcheck shell=sh disable=SC2154
# Functions of the step `user`, which sets name, uid, gid, shell, home, system and create_home, and defines
# groups_wanted: it prints a name or a number a line.

group_of() {
  if [ -e "$1" ]; then stat -c %g -- "$1"; else printf 'missing %s\n' "$1"; fi
}

field() { printf '%s' "$entry" | cut -d : -f "$1"; }

# The groups that the account is not in, as asked for.
groups_missing() {
  numbers=" $(id -G -- "$name" 2>/dev/null) "
  groups_wanted | while IFS= read -r group; do
    number=$(getent group "$group" | cut -d : -f 3)
    case $numbers in *" ${number:-$group} "*) ;; *) printf '%s\n' "$group" ;; esac
  done
}

account_state() {
  gone=$(groups_wanted | sed -n 's/^missing //p' | head -n 1)
  if [ -n "$gone" ]; then printf 'refused group-device-missing %s' "$gone"; return 0; fi
  if ! entry=$(getent passwd "$name"); then
    if [ -n "$uid" ] && holder=$(getent passwd "$uid"); then
      printf 'refused account-number-taken %s is %s' "$uid" "${holder%%:*}"
    else
      printf absent
    fi
    return 0
  fi
  differs=
  [ -z "$uid" ] || [ "$(field 3)" = "$uid" ] || differs="$differs uid $(field 3)"
  [ -z "$gid" ] || [ "$(field 4)" = "$gid" ] || differs="$differs gid $(field 4)"
  [ -z "$shell" ] || [ "$(field 7)" = "$shell" ] || differs="$differs shell $(field 7)"
  [ -z "$home" ] || [ "$(field 6)" = "$home" ] || differs="$differs home $(field 6)"
  out=$(groups_missing | tr '\n' ' ')
  [ -z "$out" ] || differs="$differs not in ${out% }"
  if [ -z "$differs" ]; then printf 'as wanted'; else printf 'differs:%s' "$differs"; fi
}

# A number that no group has gets one: usermod takes a number only of a group that is there.
join() {
  if ! getent group "$1" >/dev/null; then
    case $1 in *[!0-9]*) groupadd "$1" ;; *) groupadd -g "$1" "bringup-$1" ;; esac
  fi
  usermod -aG "$(getent group "$1" | cut -d : -f 1)" "$name"
}

make_account() {
  if [ -n "$gid" ] && ! getent group "$gid" >/dev/null; then groupadd -g "$gid" "$name"; fi
  set --
  if [ -n "$uid" ]; then set -- "$@" -u "$uid"; fi
  if [ -n "$gid" ]; then set -- "$@" -g "$gid"; fi
  if [ -n "$shell" ]; then set -- "$@" -s "$shell"; fi
  if [ -n "$home" ]; then set -- "$@" -d "$home"; fi
  if getent passwd "$name" >/dev/null; then
    if [ $# -gt 0 ]; then usermod "$@" "$name"; fi
  else
    if [ "$system" = yes ]; then set -- "$@" -r; fi
    if [ "$create_home" = yes ]; then set -- "$@" -m; else set -- "$@" -M; fi
    useradd "$@" "$name"
  fi
  groups_missing | while IFS= read -r group; do join "$group"; done
}
