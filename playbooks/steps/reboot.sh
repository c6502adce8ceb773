# shellcheck shell=sh
# Functions of the step `reboot`, which defines `reasons`: each prints a line when a restart is needed.

wanted_by_packages() {
  if [ -e /run/reboot-required ] || [ -e /var/run/reboot-required ]; then
    echo "packages ask for it: $(sort -u /run/reboot-required.pkgs 2>/dev/null | head -n 4 | tr '\n' ' ')"
  elif command -v needs-restarting >/dev/null && ! needs-restarting -r >/dev/null 2>&1; then
    echo 'needs-restarting asks for it'
  fi
}

# Of the flavour that runs: generic, 64k, el9.x86_64.
older_kernel_runs() {
  running=$(uname -r)
  flavour=$(printf '%s' "$running" | sed 's/[0-9._-]*[0-9]//g')
  newest=$(
    for kernel in /boot/vmlinuz-*; do
      version=${kernel##*/vmlinuz-}
      if [ -e "$kernel" ] && [ "$(printf '%s' "$version" | sed 's/[0-9._-]*[0-9]//g')" = "$flavour" ]; then
        printf '%s\n' "$version"
      fi
    done | sort -V | tail -n 1
  )
  [ -z "$newest" ] || [ "$newest" = "$running" ] ||
    [ "$(printf '%s\n%s\n' "$newest" "$running" | sort -V | tail -n 1)" = "$running" ] ||
    echo "kernel $newest is installed, $running runs"
}

argument_missing() {
  for argument in "$@"; do
    case " $(tr '\n' ' ' </proc/cmdline) " in *" $argument "*) ;; *) echo "the kernel was started without $argument" ;; esac
  done
}

# A module may tell the release that it was packed for behind its version: 7.1.3.31500000 is 7.1.3.
module_differs() {
  version=$(cat "/sys/module/$1/version" 2>/dev/null) || version=none
  case $version in "$2" | "$2".*) ;; *) echo "module $1 is loaded in version $version, not $2" ;; esac
}

other_is_loaded() { if [ -d "/sys/module/$1" ]; then module_differs "$1" "$2"; fi; }

still_loaded() { if [ -d "/sys/module/$1" ]; then echo "module $1 is loaded"; fi; }

reboot_state() {
  told=$(reasons | tr '\n' ';')
  if [ -z "$told" ]; then printf 'not needed'; else printf 'needed: %s' "${told%;}"; fi
}
