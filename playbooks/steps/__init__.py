"""Step kinds: functions that make a `Step` from its parameters. Registered by name in `KINDS`, never by a scan."""
