umask 077
mkdir -p -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210' && cd -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210' || exit 1
for name in *; do [ ! -f "$name" ] || stat -c '%s %n' -- "$name"; done
kilobytes=$(df -Pk . | awk 'NR == 2 { print $4 }')
printf 'free %s\n' "$((kilobytes * 1024))"
