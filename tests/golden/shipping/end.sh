
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }
boot_id() { cat /proc/sys/kernel/random/boot_id; }
recorded_alive() { # file: is the process of this record alive?
  [ -r "$1" ] && read -r pid started booted <"$1" || return 1
  [ "$booted" = "$(boot_id)" ] && [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}

if recorded_alive '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.server; then kill "$pid"; fi
rm -f -- '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.server '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.served '/var/lib/it'"'"'s bringup/incoming/fedcba9876543210'.serve.py
