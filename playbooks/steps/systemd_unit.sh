# shellcheck shell=sh disable=SC2154
# Functions of the step `systemd_unit`, which sets unit, enabled, running and masked (yes, no, or empty: as it is).
# Their arguments are the files that the unit reads when it starts.

look() {
  shown=$(systemctl show -p LoadState -p UnitFileState -p ActiveState -p ActiveEnterTimestamp -- "$unit") || return 1
  load=$(value LoadState) file=$(value UnitFileState) active=$(value ActiveState) since=$(value ActiveEnterTimestamp)
}

value() { printf '%s\n' "$shown" | sed -n "s/^$1=//p" | head -n 1; }

# A file that is newer than the start.
unread_file() {
  [ -n "$since" ] || return 1
  started=$(date -d "$since" +%s) || return 1
  for path in "$@"; do
    if [ -e "$path" ] && [ "$(stat -c %Y -- "$path")" -gt "$started" ]; then return 0; fi
  done
  return 1
}

unit_state() {
  if [ ! -d /run/systemd/system ]; then printf 'refused no-systemd PID 1 is %s' "$(cat /proc/1/comm)"; return 0; fi
  look || return 1
  if [ "$load" = masked ]; then
    printf masked
    return 0
  fi
  if [ "$load" = not-found ] && [ -z "$file" ]; then
    if [ "$masked" = yes ]; then printf absent; else printf 'refused unit-missing %s' "$unit"; fi
    return 0
  fi
  words=
  if [ "$masked" = yes ]; then words=" $file $active"; fi
  # What nothing enables (static, generated, an alias) counts as enabled: others pull it in.
  case $enabled,$file in
  ,*) ;;
  *,disabled | *,linked | *,*-runtime) words="$words disabled" ;;
  *) words="$words enabled" ;;
  esac
  case $running,$active in
  ,*) ;;
  *,active | *,reloading) if unread_file "$@"; then words="$words running-with-older-files"; else words="$words running"; fi ;;
  *,inactive) words="$words stopped" ;;
  no,failed) words="$words stopped" ;;
  *) words="$words $active" ;;
  esac
  printf '%s' "${words# }"
}

must() {
  "$@" && return 0
  printf 'outcome\tunit-failed %s: %s\n' "$unit" "$(journalctl -u "$unit" -n 3 --no-pager -o cat 2>/dev/null | tr '\n' ' ')"
  exit 1
}

make_so() {
  systemctl daemon-reload
  if [ "$masked" = yes ]; then
    systemctl stop -- "$unit" 2>/dev/null || :
    systemctl mask -- "$unit"
    return 0
  fi
  look
  if [ "$load" = masked ]; then systemctl unmask -- "$unit"; fi
  case $enabled in yes) systemctl enable -- "$unit" ;; no) systemctl disable -- "$unit" ;; esac
  look
  case $running in
  yes) if [ "$active" = active ] && unread_file "$@"; then must systemctl restart -- "$unit"; else must systemctl start -- "$unit"; fi ;;
  no) systemctl stop -- "$unit" ;;
  esac
}
