"""The ten things of book.yaml, as pyinfra has them."""

# mypy: ignore-errors
# ruff: noqa: INP001, S604  (a file of pyinfra, not of a package; its `shell` is an account's)
import io

from pyinfra.operations import apt, files, server

START = '#!/bin/sh\n. /etc/serve/env\nexec vllm serve "$@"\n'

files.directory(path="/opt/serve", mode="755")
files.directory(path="/etc/serve", mode="755")
files.put(src=io.StringIO("HF_HOME=/data/hub\nNCCL_DEBUG=WARN\n"), dest="/etc/serve/env", mode="644")
files.put(src=io.StringIO(START), dest="/opt/serve/start.sh", mode="755")
files.put(src=io.StringIO("* - memlock unlimited\n"), dest="/etc/security/limits.d/95-serve.conf", mode="644")
files.line(path="/etc/sysctl.d/95-serve.conf", line="vm.max_map_count=1048576")
files.line(path="/etc/profile.d/serve.sh", line="export HF_HOME=/data/hub")
apt.packages(packages=["openssh-server"], present=True)
server.user(user="serve", system=True, shell="/bin/bash", create_home=False)
files.link(path="/opt/serve/current", target="/opt/serve")
