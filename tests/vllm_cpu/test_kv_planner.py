"""Our block pool against the planner of a real vLLM: groups, bytes of a block, blocks of a request, exactly."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from launch.memory.architecture import load, names
from launch.memory.caches import caches_of
from launch.memory.pool import Cache, Kind, block_bytes, groups_of, pages_of_request
from launch.memory.settings import Parallel, Settings
from tests.vllm_cpu.test_real_parser import Real, real

__all__ = ["real"]
pytestmark = [pytest.mark.vllm_cpu, pytest.mark.serial]

PLANNER = Path(__file__).parent / "planner.py"
SEED = 5
FAULT = "fault"
"""What it answers where it loses layers itself: drawn mixtures that no model has."""


@dataclass(frozen=True)
class Case:
    name: str
    caches: tuple[Cache, ...]
    packed: bool
    context: int
    in_flight: int
    dcp: int = 1


def of_models() -> Iterator[Case]:
    """Every architecture that comes with the recipes, in several layouts."""
    for name in names():
        one = load(name).architecture
        for tensor in (1, 2, 8):
            for dtype in ("auto", "fp8"):
                caches = caches_of(one, Parallel(tensor=tensor), Settings(kv_dtype=dtype), "hopper")
                yield Case(f"{name} TP{tensor} {dtype}", caches, one.packed, one.context or 8192, 16384)


def drawn(number: int) -> Iterator[Case]:
    """Models that nobody made: any kinds of layers with any pages."""
    dice = random.Random(SEED)  # noqa: S311  (drawn cases)
    for at in range(number):
        packed = dice.random() < 0.5
        count = dice.randint(1, 4)
        caches = tuple(one_latent_window(draw(dice, f"{at}.{one}", packed=packed) for one in range(count)))
        yield Case(f"drawn {at}", caches, packed, dice.randint(1, 10**6), dice.choice((0, 512, 16384)))


def one_latent_window(caches: Iterable[Cache]) -> Iterator[Cache]:
    """Of two, vLLM takes the first one's size for both."""
    seen = False
    for one in caches:
        if one.kind is not Kind.LATENT_WINDOW or not seen:
            yield one
        seen |= one.kind is Kind.LATENT_WINDOW


def draw(dice: random.Random, what: str, *, packed: bool) -> Cache:
    kind = dice.choice([Kind.FULL, Kind.FULL, Kind.WINDOW, Kind.STATE, Kind.LATENT_WINDOW, *[Kind.RING] * packed])
    block = dice.choice((16, 32, 64))
    page = block * dice.choice((64, 128, 192, 256, 1024))
    return Cache(
        what=what,
        kind=kind,
        layers=dice.randint(1, 40),
        block=16 if kind is Kind.STATE else block,
        page=page,
        window=dice.choice((128, 1024)) if kind in {Kind.WINDOW, Kind.LATENT_WINDOW} else 0,
        copies=dice.randint(1, 4) if kind is Kind.STATE else 1,
        is_latent=kind is Kind.LATENT_WINDOW or (kind is Kind.FULL and dice.random() < 0.3),
    )


def ask(real: Real, cases: Sequence[Case], folder: Path) -> list[dict[str, int] | str | None]:
    asked, said = folder / "asked.json", folder / "said.json"
    asked.write_text(json.dumps([asdict(case) for case in cases]), encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "VLLM_NO_USAGE_STATS": "1", **real.env}
    subprocess.run([real.python, str(PLANNER), str(asked), str(said)], check=True, env=env, timeout=300)
    found: list[dict[str, int] | str | None] = json.loads(said.read_text(encoding="utf-8"))
    return found


def ours(case: Case) -> dict[str, int] | None:
    try:
        groups = groups_of(case.caches, packed=case.packed)
    except ValueError:
        return None
    pages = pages_of_request(groups, case.context, in_flight=case.in_flight, dcp=case.dcp)
    return {"groups": len(groups), "block_bytes": block_bytes(groups), "pages": pages}


def test_the_pool_is_planned_as_vllm_plans_it(real: Real, tmp_path: Path) -> None:
    cases = [*of_models(), *drawn(300)]
    answers = ask(real, cases, tmp_path)
    differing = [
        (case, mine, theirs)
        for case, theirs in zip(cases, answers, strict=True)
        if theirs != FAULT and (mine := ours(case)) != theirs
    ]
    assert not differing, "\n".join(map(str, differing[:20]))
    assert sum(isinstance(answer, dict) for answer in answers) > len(cases) / 2
