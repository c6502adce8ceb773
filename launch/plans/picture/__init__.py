"""A plan as a picture: hosts, NUMA nodes, GPUs with their ranks and memory, NICs and links."""
