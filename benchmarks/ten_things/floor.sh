# shellcheck shell=sh
# The ten things of book.yaml, tested by one script and nothing else: it changes nothing.
off=0
folder() { [ -d "$1" ] && [ "$(stat -c %a "$1")" = 755 ] || off=$((off + 1)); }
# shellcheck disable=SC2059  # the texts are our own
file() { printf "$3" | cmp -s - "$1" && [ "$(stat -c %a "$1")" = "$2" ] || off=$((off + 1)); }
folder /opt/serve
folder /etc/serve
file /etc/serve/env 644 'HF_HOME=/data/hub\nNCCL_DEBUG=WARN\n'
file /opt/serve/start.sh 755 '#!/bin/sh\n. /etc/serve/env\nexec vllm serve "$@"\n'
file /etc/security/limits.d/95-serve.conf 644 '* - memlock unlimited\n'
file /etc/sysctl.d/95-serve.conf 644 'vm.max_map_count=1048576\n'
file /etc/profile.d/serve.sh 644 'export HF_HOME=/data/hub\n'
dpkg-query -W -f '${db:Status-Status}' openssh-server 2>/dev/null | grep -qx installed || off=$((off + 1))
id serve >/dev/null 2>&1 || off=$((off + 1))
[ "$(readlink /opt/serve/current)" = /opt/serve ] || off=$((off + 1))
echo "off: $off"
