from __future__ import annotations

import base64
import hashlib

from inventory.facts.base import Unknown
from inventory.facts.gpu.nccl import hexadecimal, parse_identity, parse_nccl, read_nccl
from inventory.facts.host import Nccl
from tests.answered import answers

DIGEST = hashlib.sha256(b"libnccl").digest()
RECORDED = base64.urlsafe_b64encode(DIGEST).decode().rstrip("=")
ONE, TWO = (f"/var/lib/bringup/envs/{name}/lib/python3.12/site-packages" for name in ("e1", "e2"))
TEXT = f"""\
wheel {ONE}/nvidia_nccl_cu13-2.30.7.dist-info/RECORD
wheel {ONE}/nvidia_nvshmem_cu13-3.4.5.dist-info/RECORD
size 290000000 {ONE}/nvidia/nccl/lib/libnccl.so.2
wheel {TWO}/nvidia_nccl_cu12-2.27.5.dist-info/RECORD
{ONE}/nvidia_nccl_cu13-2.30.7.dist-info/RECORD:nvidia/nccl/lib/libnccl.so.2,sha256={RECORDED},290000000
"""


def test_environments() -> None:
    first, second = parse_nccl(TEXT)
    assert first == Nccl("e1", f"{ONE}/nvidia/nccl/lib/libnccl.so.2", "2.30.7", DIGEST.hex(), 290000000, "3.4.5")
    assert (second.environment, second.version, second.sha256, second.bytes) == ("e2", "2.27.5", "", None)


def test_none() -> None:
    assert read_nccl(answers({"driver.nccl": ""})) == ()
    assert isinstance(read_nccl(answers({})), Unknown)


def test_a_digest_that_is_none() -> None:
    assert hexadecimal("!") == ""


def test_a_library_by_itself() -> None:
    text = f"{DIGEST.hex()}  /usr/lib/libnccl.so.2.30.4\n"
    assert parse_identity(text) == (Nccl("", "/usr/lib/libnccl.so.2.30.4", "2.30.4", DIGEST.hex(), None),)
    assert parse_identity("version: 2.25.1\n") == (Nccl("", "", "2.25.1", "", None),)
    assert isinstance(parse_identity("nothing"), Unknown)
