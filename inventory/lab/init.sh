#!/bin/sh
# PID 1 of a lab host: sshd, and reaping whatever loses its parent. The host is off when this ends.
trap 'exit 0' TERM INT
/usr/sbin/sshd -D -e &
sshd=$!
while kill -0 "$sshd" 2>/dev/null; do
    wait "$sshd"
done
