"""What to type on a host to look at its GPUs: checks tell people, and only this package knows the vendors' tools."""

from __future__ import annotations

LIST = "nvidia-smi -L"
FABRIC = "nvidia-smi -q | grep -A 12 Fabric"
CLIQUE = "nvidia-smi -q | grep -E 'CliqueId|ClusterUUID'"
COMPUTE_MODE = "nvidia-smi -q | grep 'Compute Mode'"
RECOVERY = "nvidia-smi -q | grep -i 'recovery action'"
MEMORY_ERRORS = "nvidia-smi -q -d ROW_REMAPPER,ECC"
POWER = "nvidia-smi -q -d POWER,CLOCK"
SLOWDOWNS = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"
LINK_ERRORS = "nvidia-smi nvlink -e"
DISTANCES = "nvidia-smi topo -m"
IMEX = "systemctl status nvidia-imex; nvidia-imex-ctl -N"
