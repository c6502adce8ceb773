"""Versions that are known to work or not to work, and who says so. Data; the checks beside compare with it."""

from __future__ import annotations

# The oldest driver of a major version of CUDA: NVIDIA, CUDA Compatibility, "Minor Version Compatibility", table 1.
CUDA_FLOOR = {13: (580,), 12: (525,), 11: (450,)}

# The driver that a CUDA toolkit comes with, by the name of its installer: cuda_12.9.0_575.51.03_linux.run.
# CUDA Toolkit Release Notes, "CUDA Toolkit and Corresponding Driver Versions".
CUDA_DRIVER = {
    (12, 4): (550, 54, 14),
    (12, 8): (570,),  # the branch: its first release is not told alike
    (12, 9): (575, 51, 3),
    (13, 0): (580, 65, 6),
}

# NCCL below these fails on GPUs whose name holds the word: NVIDIA/nccl#1611 (2.21 crashes on ten GB200 trays).
# The GB300 is of the same rack and newer: what the GB200 needs it needs too.
NCCL_FLOOR = (("GB200", (2, 25, 1)), ("GB300", (2, 25, 1)))

# NCCL that hangs on GPUs whose name holds the word: NVIDIA/nccl#2167 (2.30.3 works).
NCCL_DENIED = (("GB10", (2, 30, 4)),)

# NVSHMEM from which IBGDA needs no module options of the driver any more: deepseek-ai/DeepEP#484.
# It falls back to a proxy on the CPU where they are missing, hence no failure.
NVSHMEM_RELAXED = (3, 4)

# ROCm release of a version of amdgpu-dkms, by the names of AMD's packages (amdgpu-dkms 6.10.5.60300 is of ROCm 6.3).
AMDGPU_RELEASE = {
    (6, 8, 5): (6, 2),
    (6, 10, 5): (6, 3),
    (6, 12, 12): (6, 4),
    (6, 14, 14): (7, 0),
    (6, 16, 6): (7, 1),
    (7, 1, 3): (10, 0),
}

# Releases of ROCm in order. AMD, "User and kernel-space support matrix": user space may be two releases newer.
ROCM_RELEASES = ((6, 0), (6, 1), (6, 2), (6, 3), (6, 4), (7, 0), (7, 1), (7, 2), (7, 14), (10, 0))
ROCM_NEWER_BY = 2
