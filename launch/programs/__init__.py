"""Programs that run on a host, inside the engine's environment. Standard library only, shipped as text."""
