"""Which rank runs on which host, with which GPUs, cores, addresses and ports."""
