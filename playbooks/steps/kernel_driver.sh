# shellcheck shell=sh
# Functions of the step `kernel_driver`: each ends the probe with a refusal, or says nothing.

refuse() { printf 'refused %s' "$*"; exit 0; }

owned() { dpkg-query -S "$1" >/dev/null 2>&1 || rpm -qf "$1" >/dev/null 2>&1; }

installer() {
  for file in "$@"; do
    if [ -e "$file" ] && ! owned "$file"; then refuse "driver-runfile $file belongs to no package"; fi
  done
}

secure_boot() {
  variable=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  [ -r "$variable" ] && [ "$(od -An -tu1 -j4 -N1 "$variable" | tr -d ' ')" = 1 ]
}

# The keys that DKMS signs with, on Ubuntu and elsewhere.
signing() {
  secure_boot || return 0
  if ! command -v mokutil >/dev/null; then refuse 'secure-boot-key no mokutil to ask with'; fi
  found=
  for key in /var/lib/shim-signed/mok/MOK.der /var/lib/dkms/mok.pub; do
    [ -e "$key" ] || continue
    found=$key
    if mokutil --test-key "$key" 2>/dev/null | grep -q 'already enrolled'; then return 0; fi
  done
  refuse "secure-boot-key ${found:-no key was made yet}${found:+ is not enrolled}"
}

headers() {
  for kernel in "$@"; do
    build=/lib/modules/$kernel/build
    if [ -e "$build/Makefile" ]; then
      release=$(cat "$build/include/config/kernel.release" 2>/dev/null) || release=$kernel
      if [ "$release" != "$kernel" ]; then refuse "kernel-headers-other $build is of $release"; fi
    elif [ -n "$(ls /var/lib/apt/lists/*_Packages* 2>/dev/null)" ] && ! apt-cache show "linux-headers-$kernel" >/dev/null 2>&1; then
      refuse "kernel-headers-missing linux-headers-$kernel"
    fi
  done
}
