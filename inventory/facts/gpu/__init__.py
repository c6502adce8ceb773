"""The GPUs of a host: one file a vendor, and what the kernel itself says of the PCI bus."""

from __future__ import annotations

# Sections of the gathering script that ask a vendor's tools (they can take seconds), and where they are written.
SECTIONS = (
    *("nvidia", "nvidia_topology", "nvidia_capability", "nvidia_services", "nvidia_links", "nvidia_imex", "amd"),
    *("driver", "kernel_log", "bridges"),
)
PIECES = ("gpu/driver", "gpu/nvidia", "gpu/amd")
