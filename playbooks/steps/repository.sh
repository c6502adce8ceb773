# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the step `repository`, behind those of package_manager.sh; those of the manager that it is for are in the
# file beside. It sets wanted_manager, name, url and source_file; arguments are its files, the source at the end.

repository_state() {
  if [ "$(manager)" != "$wanted_manager" ]; then
    printf 'refused no-package-manager no %s, %s' "$wanted_manager" "$(uname -sr)"
    return 0
  fi
  other=$(other_source)
  if [ -n "$other" ]; then printf 'refused repository-twice %s has %s' "$other" "$url"; return 0; fi
  if [ ! -e "$source_file" ]; then printf absent; return 0; fi
  printf '%s %s' "$(files_digest "$@")" "$(indexed)"
}

# What is there of the files, and who may read it.
files_digest() {
  for file in "$@"; do
    if [ -f "$file" ]; then printf '%s %s\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$(stat -c %04a -- "$file")"
    else echo absent; fi
  done | sha256sum | cut -c 1-16
}

begin_repository() {
  umask 022
  stage=$(mktemp -d)
  trap 'rm -rf -- "$stage"' EXIT
  said=$stage/said
  wait_until_free
  for file in "$@"; do mkdir -p -- "$(dirname -- "$file")"; done
}

# place PATH MODE TEXT: by rename, nobody sees half of it.
place() {
  new=$(mktemp -- "$1.XXXXXX")
  printf '%s' "$3" >"$new"
  chmod "$2" -- "$new"
  mv -fT -- "$new" "$1"
}
