# shellcheck shell=sh disable=SC2154
# What the steps about packages share: which manager there is, who has it, and what its failures mean. They set wait_s,
# and `said`, a file for its output.

LC_ALL=C
export LC_ALL

manager() {
  if command -v dpkg-query >/dev/null; then echo apt
  elif command -v rpm >/dev/null && command -v dnf >/dev/null; then echo dnf
  else echo none; fi
}

outcome() { printf 'outcome\t%s\n' "$*"; exit 1; }

# Who has the package manager: `NAME (pid N)`, nothing when it is free.
holder_apt() {
  for file in /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock; do
    found=$(find /proc/[0-9]*/fd -lname "$file" 2>/dev/null | head -n 1 | cut -d / -f 3)
    if [ -n "$found" ]; then printf '%s (pid %s)' "$(cat "/proc/$found/comm" 2>/dev/null)" "$found"; return; fi
  done
}

holder_dnf() {
  for file in /var/cache/dnf/metadata_lock.pid /var/cache/dnf/download_lock.pid /var/lib/dnf/rpmdb_lock.pid /run/dnf.pid; do
    found=$(cat "$file" 2>/dev/null) || continue
    if [ -d "/proc/$found" ]; then printf '%s (pid %s)' "$(cat "/proc/$found/comm" 2>/dev/null)" "$found"; return; fi
  done
}

# It is never killed: what is half unpacked then stays so.
wait_until_free() {
  waited=0
  while holder=$("holder_$(manager)"); [ -n "$holder" ]; do
    if [ "$waited" -ge "$wait_s" ]; then outcome package-manager-locked "$holder, for $waited s"; fi
    if [ $((waited % 5)) = 0 ]; then printf 'waiting for %s: %s s of at most %s\n' "$holder" "$waited" "$wait_s"; fi
    sleep 1
    waited=$((waited + 1))
  done
}

# run_manager COMMAND...: with its output shown, and its failure named where it has a name.
run_manager() {
  status=0
  "$@" >"$said" 2>&1 </dev/null || status=$?
  cat "$said"
  if [ "$status" = 0 ]; then return 0; fi
  why=$(grep -E '^(E:|Error|error:|dpkg: error)' "$said" | head -n 2 | tr '\n' ' ')
  named_failure "$why"
  exit "$status"
}

# What the manager has said has a name.
named_failure() {
  why=$1
  if grep -qE "enough free space|No space left|more space needed" "$said"; then outcome package-no-space "$why"; fi
  if grep -qE "remove is disabled|unmet dependencies|[Cc]onflict|nothing provides" "$said"; then outcome package-conflict "$why"; fi
  if grep -qE "dpkg was interrupted" "$said"; then outcome package-manager-broken "$why"; fi
  if grep -qE "Version .* was not found|Unable to locate package|Unable to find a match|No match for" "$said"; then
    outcome package-version-missing "$why"
  fi
}
