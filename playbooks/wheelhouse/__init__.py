"""All wheels of a lock for one target platform, found on the control machine's index and fetched there once."""
