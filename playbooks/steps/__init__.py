"""Step kinds: functions that make a `Step` of their parameters. Planning one is pure; only `apply` runs its script."""
