# shellcheck shell=sh disable=SC2154
# Functions of the step `kernel_module`, which sets module, initramfs, load_file, options_file and what they must hold,
# and defines options_apply.

in_kernel() { [ -d "/sys/module/$(printf '%s' "$module" | tr - _)" ]; }

# A parameter that cannot be read, or that the kernel writes in other words, is not compared.
same_option() {
  there=$(cat "/sys/module/$(printf '%s' "$module" | tr - _)/parameters/$1" 2>/dev/null) || return 0
  case $there in "$2" | Y | N) ;; *) printf 'other %s=%s' "$1" "$there"; return 1 ;; esac
}

files_as_wanted() {
  [ "$(cat "$load_file" 2>/dev/null; printf .)" = "$load_text." ] || return 1
  [ "$(cat "$options_file" 2>/dev/null; printf .)" = "$options_text." ]
}

module_state() {
  if [ "$1" = later ]; then state=later
  elif in_kernel; then
    state=loaded
    if [ "$1" = loaded ]; then other=$(options_apply) || state="loaded with $other"; fi
  elif [ "$1" = loaded ] && ! modinfo "$module" >/dev/null 2>&1; then
    printf 'refused module-missing %s for %s' "$module" "$(uname -r)"
    return 0
  else
    state=out
  fi
  if files_as_wanted; then printf '%s, files as wanted' "$state"; else printf '%s, files not as wanted' "$state"; fi
}

unload() {
  modprobe -r "$module" 2>/dev/null || {
    printf 'outcome\tmodule-in-use %s: used by %s\n' "$module" \
      "$(awk -v name="$(printf '%s' "$module" | tr - _)" '$1 == name { print $3 " holders, " $4 }' /proc/modules)"
    exit 1
  }
}

new_initramfs() {
  if command -v update-initramfs >/dev/null; then update-initramfs -u
  elif command -v dracut >/dev/null; then dracut -f; fi
}

make_so() {
  if [ "$initramfs" = yes ]; then new_initramfs; fi
  if [ "$1" = later ]; then return 0; fi
  if [ "$1" = out ]; then
    if in_kernel; then unload; fi
    return 0
  fi
  if in_kernel && ! options_apply >/dev/null; then unload; fi
  if ! in_kernel; then modprobe "$module"; fi
}
