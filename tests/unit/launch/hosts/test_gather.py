from __future__ import annotations

from inventory.schema import Host
from launch.hosts.gather import asked_of


def test_each_host_is_asked_for_what_may_lie_elsewhere() -> None:
    env = (("TRITON_CACHE_DIR", "/fast/triton"), ("HF_HOME", "relative"), ("PATH", "/bin"))
    hosts = {
        "a": Host(name="a", address="10.0.0.1", state_dir="/srv/bringup", env=env),
        "b": Host(name="b", address="10.0.0.2", fabric_address="10.1.0.2"),
    }
    asked = asked_of(hosts, "a")
    assert asked.paths == ("/srv/bringup/weights", "/srv/bringup/caches", "/fast/triton")
    assert asked.addresses == ("10.1.0.2",)
