"""The stand-in engine: seen from outside it behaves as `vllm serve`, and runs no model.

For hosts without hardware. It reads its command line by the pinned option schema, opens the real ports, joins over
the network in the real order, prints the real log lines and dies as the real one dies; everything that it says is
marked as simulated. Standard library only: `make_env.build` makes an environment of it that `bin/vllm` runs on a host
that has nothing but Python. `docs/reference/stand-in.md` says what is simulated, how failures are injected and what
differs from vLLM.

Read `main.py` first, then `serve.py` (the head) and `headless.py` (a follower).
"""
