from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.gpu.nvlink import parse_nvlink_errors, read_nvlink_errors
from inventory.facts.host import NvlinkErrors
from tests.answered import answers

TEXT = """\
GPU 0: NVIDIA H200 (UUID: GPU-00000000-0000-0000-0000-000000000001)
\t Link 0: Replay Errors: 1
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 2

\t Link 17: Replay Errors: 4
GPU 1: NVIDIA H200 (UUID: GPU-00000000-0000-0000-0000-000000000002)
\t Link 0: Replay Errors: 0
GPU 2: NVIDIA L40S (UUID: GPU-00000000-0000-0000-0000-000000000003)
"""


def test_sums() -> None:
    """A GPU without links is not in the list."""
    assert parse_nvlink_errors(TEXT) == (NvlinkErrors(0, 7), NvlinkErrors(1, 0))


def test_no_answer() -> None:
    assert isinstance(parse_nvlink_errors("Invalid combination of input arguments."), Unknown)
    assert isinstance(read_nvlink_errors(answers({"nvidia_links.errors": (127, "nvidia-smi: not found")})), Unknown)
    assert read_nvlink_errors(answers({"nvidia_links.errors": TEXT})) == (NvlinkErrors(0, 7), NvlinkErrors(1, 0))
