#!/bin/sh
# boot.sh NAME DISK IMAGE NETWORK INIT [SOURCE PLACE]...
#
# Turns fresh namespaces into a lab host and then becomes its PID 1. Says its pid (as the machine counts) on stdout,
# waits on stdin for the word that the cables are in, and says when it has its addresses. Ends when the word does not
# come: a lab that died leaves no host.
set -eu
read -r pid _ </proc/self/stat
echo "$pid"
name=$1 disk=$2 image=$3 network=$4 init=$5
shift 5

# The disk over the lab's shared files over this machine's own root.
mount -t overlay -o "lowerdir=$image:/,upperdir=$disk/upper,workdir=$disk/work,index=off" lab "$disk/root"
cd "$disk/root"

mount -t proc -o nosuid,nodev,noexec proc proc
echo "$name" >proc/sys/kernel/hostname
# What a host writes there must not reach the machine; the settings of its network are its own.
mkdir -p "$disk/net"
mount --bind proc/sys/net "$disk/net"
mount --bind -o ro proc/sys proc/sys
mount --move "$disk/net" proc/sys/net
[ ! -e proc/sysrq-trigger ] || mount --bind -o ro proc/sysrq-trigger proc/sysrq-trigger
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
if [ "$init" = systemd ]; then
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 sys/fs/cgroup
else
    mount -t cgroup2 -o ro,nosuid,nodev,noexec cgroup2 sys/fs/cgroup 2>/dev/null || true
fi

mount -t tmpfs -o mode=755,nosuid,noexec dev dev
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty dev/
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5,nosuid,noexec devpts dev/pts
mount -t tmpfs -o mode=1777,nosuid,nodev shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr

mount -t tmpfs -o mode=755,nosuid,nodev run run
mkdir run/sshd run/lock
cat proc/sys/kernel/random/uuid >run/boot_id
chmod 444 run/boot_id
mount --bind run/boot_id proc/sys/kernel/random/boot_id

while [ $# -gt 0 ]; do
    mkdir -p ".$2"
    mount --bind -o ro "$1" ".$2"
    shift 2
done

read -r go
[ "$go" = go ]
ip -batch "$network"
echo plugged in

mkdir -p .machine
pivot_root . .machine
cd /
umount -l .machine
rmdir .machine
exec </dev/null >/var/log/init.log 2>&1
# With these a host's root could set the clock of the machine, load modules into its kernel or open its disks. systemd
# may ask for a restart: in a PID namespace that ends the namespace only.
limit=-sys_module,-sys_time,-sys_rawio,-mknod
if [ "$init" = systemd ]; then
    exec setpriv --bounding-set="$limit" env -i container=lab PATH="$PATH" /lib/systemd/systemd
fi
exec setpriv --bounding-set="$limit,-sys_boot" /bin/sh /opt/bringup-lab/init.sh
