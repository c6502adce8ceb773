from __future__ import annotations

import pytest

from tests.soak.prefetch import soak


@pytest.mark.timeout(300)
def test_a_few_rounds_of_the_soak() -> None:
    assert sum(soak(3, seed=7).values()) == 3
