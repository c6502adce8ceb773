# shellcheck shell=sh disable=SC2154
# The half of the step `repository` that RHEL's family has, behind repository.sh.

# A file of others that has the same address, with or without its / at the end.
other_source() {
  for file in /etc/yum.repos.d/*.repo; do
    if [ "$file" = "$source_file" ] || [ ! -f "$file" ]; then continue; fi
    if sed 's/#.*//; s,$, ,' "$file" | grep -qF -e "$url " -e "${url%/} "; then printf '%s' "$file"; return; fi
  done
}

indexed() {
  for file in /var/cache/dnf/"bringup-$name"-*/repodata/repomd.xml; do
    if [ -e "$file" ]; then printf indexed; return; fi
  done
  printf not-indexed
}

# The source alone, whatever else is configured. Whether packages are signed is seen when they are installed.
read_index() {
  status=0
  show dnf -y --setopt=reposdir="$stage" --setopt=retries=3 --setopt=exit_on_lock=False makecache --refresh || status=$?
  if [ "$status" != 0 ]; then
    why=$(sed -n '/^Error/,$p' "$said" | head -n 3 | tr -s ' \n' ' ')
    named_failure "$why"
    outcome repository-unreachable "$why"
  fi
  mv -fT -- "$stage/${source_file##*/}" "$source_file"
}
