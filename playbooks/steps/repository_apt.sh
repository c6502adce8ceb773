# shellcheck shell=sh disable=SC2154
# The half of the step `repository` that Debian's family has, behind repository.sh.

# A file of others that has the same address, with or without its / at the end.
other_source() {
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ "$file" = "$source_file" ] || [ ! -f "$file" ]; then continue; fi
    if sed 's/#.*//; s,$, ,' "$file" | grep -qF -e "$url " -e "${url%/} "; then printf '%s' "$file"; return; fi
  done
}

# The source alone, whatever else is configured.
only_source() { printf '%s' "-o Dir::Etc::SourceList=$1 -o Dir::Etc::SourceParts=-"; }

indexed() {
  # shellcheck disable=SC2016,SC2046  # words; apt's own variable
  apt-get indextargets $(only_source "$source_file") --format '$(FILENAME)' 'Created-By: Packages' 2>/dev/null | {
    indexed=not-indexed
    while read -r file; do
      for one in "$file" "$file".*; do if [ -e "$one" ]; then indexed=indexed; fi; done
    done
    printf '%s' "$indexed"
  }
}

# Errors of an index are mere warnings by default, and what was there before is kept.
read_index() {
  status=0
  # shellcheck disable=SC2046  # words
  apt-get update $(only_source "$stage/${source_file##*/}") -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any \
    -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o Acquire::Retries=3 >"$said" 2>&1 </dev/null || status=$?
  cat "$said"
  why=$(grep -E '^(E|W|Err):?' "$said" | head -n 3 | tr '\n' ' ')
  if grep -qE 'NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|signatures? (was|were) invalid|Sub-process .*(gpgv|sqv)' "$said"; then
    outcome repository-signature "$why"
  fi
  # What does not come is said to be unsigned, too.
  if grep -q 'Failed to fetch' "$said"; then outcome repository-unreachable "$why"; fi
  if grep -q 'is not signed' "$said"; then outcome repository-signature "$why"; fi
  if [ "$status" != 0 ]; then
    named_failure "$why"
    outcome repository-unreachable "$why"
  fi
  mv -fT -- "$stage/${source_file##*/}" "$source_file"
}
