"""The two small Python programs of `net.pair_tcp`, for any Python 3 of a host."""

MARK = "bringup-listener"
"""Stands in the arguments of a listener, so that what is ended is surely one."""

# argv: MARK, seconds, address, ports (0: any). Says what it listens on, then goes on in the background until its time
# is over: the parent's end tells that all is ready.
LISTEN = """
import os, select, signal, socket, sys, time
seconds, address, ports = float(sys.argv[2]), sys.argv[3], sys.argv[4:]
sockets = []
for port in ports:
    one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        one.bind((address, int(port)))
        one.listen(128)
    except OSError as error:
        print("busy", port, error.strerror, flush=True)
        continue
    sockets.append(one)
    print("listening", one.getsockname()[1], "fixed" if int(port) else "any", flush=True)
child = os.fork() if sockets else -1
if child:
    print("pid", child, flush=True)
    os._exit(0)
os.setsid()
signal.signal(signal.SIGHUP, signal.SIG_IGN)
null = os.open(os.devnull, os.O_RDWR)
for descriptor in (0, 1, 2):
    os.dup2(null, descriptor)
end = time.monotonic() + seconds
while time.monotonic() < end:
    for one in select.select(sockets, [], [], max(0.0, end - time.monotonic()))[0]:
        try:
            one.accept()[0].close()
        except OSError:
            pass
os._exit(0)
"""

# argv: seconds, own address, then address and port of each target. All at once, each with a deadline of its own.
CONNECT = """
import concurrent.futures, errno, socket, sys, time
seconds, own, words = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
def attempt(target):
    address, port = target
    begun = time.monotonic()
    try:
        socket.create_connection((address, int(port)), seconds, (own, 0)).close()
    except OSError as error:
        name = errno.errorcode.get(error.errno, "timeout" if isinstance(error, socket.timeout) else "error")
        return "failed %s %s %s" % (address, port, name)
    return "connected %s %s %.1f ms" % (address, port, (time.monotonic() - begun) * 1000)
targets = list(zip(words[::2], words[1::2]))
with concurrent.futures.ThreadPoolExecutor(min(64, len(targets) or 1)) as pool:
    for line in pool.map(attempt, targets):
        print(line, flush=True)
"""
