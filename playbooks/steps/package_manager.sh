# shellcheck shell=sh disable=SC2154
# What the steps about packages share: which manager there is, who has it, and what its failures mean. They set wait_s,
# and `said`, a file for its output.

LC_ALL=C
export LC_ALL

manager() {
  if command -v apt-get >/dev/null; then echo apt
  elif command -v rpm >/dev/null && command -v dnf >/dev/null; then echo dnf
  else echo none; fi
}

# On a line of its own: what the manager says need not end with its line.
outcome() { printf '\noutcome\t%s\n' "$*"; exit 1; }

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
  # rpm alone, or PackageKit: they lock the database itself.
  inode=$(stat -c %i -- "$(rpm --eval %_dbpath)/.rpm.lock" 2>/dev/null) || return 0
  inode=$inode awk '$4 == "WRITE" && $6 ~ ":" ENVIRON["inode"] "$" { print $5 }' /proc/locks | while read -r found; do
    # The number alone is a file of any disk.
    if find "/proc/$found/fd" -lname '*/.rpm.lock' 2>/dev/null | grep -q .; then
      printf '%s (pid %s)' "$(cat "/proc/$found/comm" 2>/dev/null)" "$found"
      return
    fi
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

# show COMMAND...: as it is said, which tells whoever waits that it moves; all of it is kept in `said`. Not through a
# pipe: a service that a package starts may keep its end open for ever.
show() {
  shown=0
  : >"$said"
  tail -n +1 -f --pid=$$ -- "$said" &
  follower=$!
  "$@" >>"$said" 2>&1 </dev/null || shown=$?
  kill "$follower"
  wait "$follower" 2>/dev/null || :
  if [ "$shown" != 0 ]; then cat -- "$said"; fi
  return "$shown"
}

# run_manager COMMAND...: with its output shown, and its failure named where it has a name.
run_manager() {
  status=0
  show "$@" || status=$?
  if [ "$status" != 0 ]; then give_up "$status"; fi
}

# give_up STATUS: by the name of what the manager has said, where it has one.
give_up() {
  named_failure "$(grep -E '^(E:|Error|error:|dpkg: error)' "$said" | head -n 2 | tr '\n' ' ')"
  exit "$1"
}

# named_failure WHY: what the manager has said has a name.
named_failure() {
  if grep -qE "enough free space|No space left|more space (needed|on the)" "$said"; then outcome package-no-space "$1"; fi
  if grep -qE "Could not get lock|Unable to (acquire|lock)" "$said"; then outcome package-manager-locked "$1"; fi
  if grep -qE "dpkg was interrupted" "$said"; then outcome package-manager-broken "$1"; fi
  if grep -qE "rpmdb open failed|database disk image is malformed" "$said"; then outcome package-database-broken "$1"; fi
  if grep -qE "filtered out by exclude filtering" "$said"; then outcome package-held "$(grep 'filtered out' "$said" | head -n 2)"; fi
  if grep -qE "Version .* was not found|Unable to locate package|Unable to find a match|No match for" "$said"; then
    outcome package-version-missing "$1"
  fi
  if grep -qE "GPG check FAILED|do not have any GPG public keys|is not signed|[Pp]ublic key for .* not installed" "$said"; then
    outcome package-signature "$1"
  fi
  if grep -qE "Failed to download metadata|Curl error|Error downloading packages|All mirrors were tried" "$said"; then
    outcome repository-unreachable "$1"
  fi
  if grep -qE "remove is disabled|unmet dependencies|[Cc]onflict|nothing provides" "$said"; then outcome package-conflict "$1"; fi
}
