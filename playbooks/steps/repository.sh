# shellcheck shell=sh disable=SC2154
# Functions of the step `repository`, behind those of package_manager.sh. It sets name, url and source_file; arguments
# are its files, the source at the end.

repository_state() {
  manager=$(manager)
  if [ "$manager" != apt ]; then printf 'refused no-package-manager %s' "$(uname -sr)"; return 0; fi
  other=$(other_source)
  if [ -n "$other" ]; then printf 'refused repository-twice %s has %s' "$other" "$url"; return 0; fi
  if [ ! -e "$source_file" ]; then printf absent; return 0; fi
  printf '%s %s' "$(files_digest "$@")" "$(indexed_apt)"
}

# What is there of the files, and who may read it.
files_digest() {
  for file in "$@"; do
    if [ -f "$file" ]; then printf '%s %s\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$(stat -c %04a -- "$file")"
    else echo absent; fi
  done | sha256sum | cut -c 1-16
}

# A file of others that has the same address, with or without its / at the end.
other_source() {
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ "$file" = "$source_file" ] || [ ! -f "$file" ]; then continue; fi
    if sed 's/#.*//; s,$, ,' "$file" | grep -qF -e "$url " -e "${url%/} "; then printf '%s' "$file"; return; fi
  done
}

# The source alone, whatever else is configured.
only_source() { printf '%s' "-o Dir::Etc::SourceList=$1 -o Dir::Etc::SourceParts=-"; }

indexed_apt() {
  # shellcheck disable=SC2016,SC2046  # words; apt's own variable
  apt-get indextargets $(only_source "$source_file") --format '$(FILENAME)' 'Created-By: Packages' 2>/dev/null | {
    indexed=not-indexed
    while read -r file; do
      for one in "$file" "$file".*; do if [ -e "$one" ]; then indexed=indexed; fi; done
    done
    printf '%s' "$indexed"
  }
}

begin_repository() {
  umask 022
  stage=$(mktemp -d)
  trap 'rm -rf -- "$stage"' EXIT
  said=$stage/said
  wait_until_free
  mkdir -p -- /etc/apt/keyrings /etc/apt/auth.conf.d
}

# place PATH MODE TEXT: by rename, nobody sees half of it.
place() {
  new=$(mktemp -- "$1.XXXXXX")
  printf '%s' "$3" >"$new"
  chmod "$2" -- "$new"
  mv -fT -- "$new" "$1"
}

# Errors of an index are mere warnings by default, and what was there before is kept.
read_index() {
  status=0
  # shellcheck disable=SC2046  # words
  apt-get update $(only_source "$stage/$name.sources") -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any \
    -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o Acquire::Retries=3 >"$said" 2>&1 </dev/null || status=$?
  cat "$said"
  why=$(grep -E '^(E|W|Err):?' "$said" | head -n 3 | tr '\n' ' ')
  if grep -qE 'NO_PUBKEY|is not signed|BADSIG|EXPKEYSIG|REVKEYSIG|signatures? (was|were) invalid|Sub-process .*(gpgv|sqv)' "$said"; then
    outcome repository-signature "$why"
  fi
  if [ "$status" != 0 ]; then
    named_failure "$why"
    outcome repository-unreachable "$why"
  fi
  mv -fT -- "$stage/$name.sources" "$source_file"
}
