# shellcheck shell=sh disable=SC2154
# The half of the step `package` that RHEL's family has, behind package.sh. It sets unfinished: a folder with a mark for
# each package whose installation has not come to its end. rpm knows no half installed packages: they count as installed
# before their scripts have run, and a script that fails is a remark in the output of a success.

# `NAME WANT STATUS VERSION` of each installed package; epoch 0 is never written.
dnf_known() {
  rpm -q --qf '%{NAME} %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n' -- "$@" 2>/dev/null |
    while read -r name version more; do
      if [ -n "$more" ]; then continue; fi # package NAME is not installed
      want=install status=installed
      if locks about "$name" | grep -q .; then want=hold; fi
      if [ -e "$unfinished/$name" ]; then status=unfinished; fi
      printf '%s %s %s %s\n' "$name" "$want" "$status" "${version#0:}"
    done
}

# dnf_newer INSTALLED PLANNED: by rpm's own comparison, epochs first.
dnf_newer() {
  if [ -z "$2" ]; then return 1; fi
  installed=$1 planned=${2%-}
  case $installed in *:*) ;; *) installed=0:$installed ;; esac
  case $planned in *:*) ;; *) planned=0:$planned ;; esac
  if [ "${installed%%:*}" != "${planned%%:*}" ]; then [ "${installed%%:*}" -gt "${planned%%:*}" ]; return; fi
  [ "$(rpm --eval "%{lua:print(rpm.vercmp('${installed#*:}', '${planned#*:}'))}")" = 1 ]
}

# What forbids to believe the database or to change anything: damage, and a package twice, which a transaction leaves
# that was cut off. Several kernels are as it should be.
dnf_broken() {
  damage=$(rpm -q -- "$@" 2>&1 >/dev/null | sed -n 's/^error: //p' | head -n 2 | tr '\n' ' ')
  if [ -n "$damage" ]; then printf 'package-database-broken %s' "$damage"; return 0; fi
  twice=$(rpm -q --qf '%{NAME}.%{ARCH}\n' -- "$@" 2>/dev/null | grep -v -e ' ' -e '^kernel' | sort | uniq -d | tr '\n' ' ')
  if [ -n "$twice" ]; then printf 'package-database-broken twice in it: %s' "$twice"; fi
}

lock_file() { sed -n 's/^ *locklist *= *//p' /etc/dnf/plugins/versionlock.conf 2>/dev/null | tail -n 1; }

# locks about|beside NAME: the versionlock's lines on it (NAME, NAME-VERSION, NAME-EPOCH:VERSION-RELEASE.*), or the others.
locks() {
  file=$(lock_file)
  if [ ! -f "$file" ]; then return 0; fi
  which=$1 name=$2 awk '
    function about(line, rest) {
      sub(/^!/, "", line)
      if (line == ENVIRON["name"]) return 1
      if (index(line, ENVIRON["name"] "-") != 1) return 0
      rest = substr(line, length(ENVIRON["name"]) + 2)
      return rest ~ /^[0-9*]/ && gsub(/-/, "-", rest) <= 1
    }
    about($1) == (ENVIRON["which"] == "about")' "$file"
}

# set_locks yes|no NAME...: on their installed versions, or none. The plugin itself would ask all repositories for it.
set_locks() {
  locked=$1 file=$(lock_file)
  shift
  for name in "$@"; do
    {
      locks beside "$name"
      if [ "$locked" = yes ]; then
        rpm -q --qf '%{NAME}-%|EPOCH?{%{EPOCH}}:{0}|:%{VERSION}-%{RELEASE}.*\n' -- "$name"
      fi
    } >"$file.bringup"
    chmod 0644 -- "$file.bringup"
    mv -fT -- "$file.bringup" "$file"
  done
}

need_versionlock() {
  if ! grep -qs '^ *enabled *= *[1tTyY]' /etc/dnf/plugins/versionlock.conf || [ -z "$(lock_file)" ]; then
    outcome versionlock-missing 'no plugin that is switched on in /etc/dnf/plugins/versionlock.conf'
  fi
}

install_dnf() {
  pairs=$*
  # shellcheck disable=SC2046,SC2086  # names have no blanks
  set -- $(names $pairs)
  if [ "$hold" = yes ]; then need_versionlock; fi
  # A lock of ours on another version would stand in the way.
  for name in "$@"; do if [ -e "$holds/$name" ]; then set_locks no "$name"; fi; done
  again=$(to_do_again "$@")
  mkdir -p -- "$unfinished"
  for name in "$@"; do : >>"$unfinished/$name"; done
  # shellcheck disable=SC2046,SC2086
  run_dnf install $(specs '-' $pairs)
  # shellcheck disable=SC2086
  if [ -n "$again" ]; then run_dnf reinstall $again; fi
  for name in "$@"; do rm -f -- "$unfinished/$name"; done
  if [ "$hold" = yes ]; then
    set_locks yes "$@"
    # shellcheck disable=SC2086
    record_holds $pairs
  fi
}

# What is there already and has not come to its end: the packages that are asked for, and those whose scripts failed.
to_do_again() {
  for name in "$@"; do
    if [ -e "$unfinished/$name" ]; then
      for one in "$name" $(cat "$unfinished/$name"); do if rpm -q -- "$one" >/dev/null 2>&1; then echo "$one"; fi; done
    fi
  done | sort -u
}

# What would have to go, before it does: only what the entry allows.
rehearse_dnf() {
  # shellcheck disable=SC2086
  show dnf --assumeno $options "$@" || : # it answers no
  went=
  # shellcheck disable=SC2013
  for one in $(awk '/^Removing/ { going = 1; next } /^[^ ]/ || !NF { going = 0 } going && NF > 4 { print $1 }' "$said"); do
    may_go "$one" || went="$went $one"
  done
  if [ -n "$went" ]; then outcome package-conflict "these would have to go:$went"; fi
}

# run_dnf VERB WORD...: another one may take the lock between our look and dnf's (exit 200).
run_dnf() {
  options='--setopt=install_weak_deps=False --setopt=best=True --setopt=exit_on_lock=True'
  options="$options --setopt=clean_requirements_on_remove=False"
  if [ "$1" = install ] && [ "$removes" = yes ]; then
    options="$options --allowerasing"
    rehearse_dnf "$@"
  fi
  while :; do
    status=0
    # shellcheck disable=SC2086
    show dnf -y $options "$@" || status=$?
    if [ "$status" != 200 ]; then break; fi
    sleep 1
    wait_until_free
  done
  why=$(sed -n '/^Error/,$p' "$said" | grep -v '^(try to' | head -n 6 | tr -s ' \n' ' ')
  if [ "$status" != 0 ]; then
    named_failure "$why"
    exit "$status"
  fi
  failed=$(sed -n 's/^Error in [A-Z]* scriptlet in rpm package //p' "$said" | sort -u | tr '\n' ' ')
  if [ -n "$failed" ]; then
    # shellcheck disable=SC2086
    for name in $(names $pairs); do printf '%s\n' "$failed" >"$unfinished/$name"; done
    outcome package-script-failed "$failed: $(grep -iE '^(error:|warning: %)' "$said" | head -n 2 | tr '\n' ' ')"
  fi
}
