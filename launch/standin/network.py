"""Which of this host's addresses vLLM and gloo would advertise, and their words when they cannot."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
from collections.abc import Mapping

from launch.standin.log import Fault
from launch.standin.wire import bind, bind_local, local_name

ANYWHERE = ("192.0.2.1", 9)  # a documentation address: only the route to it is asked for, nothing is sent
SIOCGIFADDR = 0x8915


def host_ip(env: Mapping[str, str]) -> str:
    """VLLM's own look-up: `VLLM_HOST_IP`, else the address of the default route, else 0.0.0.0."""
    if env.get("VLLM_HOST_IP"):
        return env["VLLM_HOST_IP"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ANYWHERE)
        except OSError:
            return "0.0.0.0"  # noqa: S104  (what vLLM answers; ranks over nodes then hang)
        return str(probe.getsockname()[0])


def gloo_ip(env: Mapping[str, str]) -> str:
    """The address that gloo advertises: of `GLOO_SOCKET_IFNAME`, else of the host's own name, else loopback."""
    names = env.get("GLOO_SOCKET_IFNAME", "")
    if names:
        return interface_ip(names.split(",")[0])
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def interface_ip(name: str) -> str:
    """The IPv4 address of an interface. Raises `Fault` in gloo's words when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            raise Fault(f"RuntimeError: Unable to find address for: {name}") from None
    return socket.inet_ntoa(answer[20:24])


def bind_zmq(host: str, port: int = 0, *, local: str = "") -> socket.socket:
    """A TCP socket on `host`, or a local one when `local` names its purpose. Raises `Fault` in ZeroMQ's words."""
    if local:
        return bind_local(local_name(local))
    try:
        return bind(host, port)
    except OSError as error:
        raise Fault(f"zmq.error.ZMQError: {zmq_text(error)} (addr='tcp://{host}:{port}')") from None


def zmq_text(error: OSError) -> str:
    words = {
        errno.EADDRINUSE: "Address already in use",
        errno.EADDRNOTAVAIL: "Cannot assign requested address",
    }
    return words.get(error.errno or 0, "No such device")
