"""What surrounds a deployment that serves: its metrics, its clients, adapters that come and go, its benchmarks."""
