"""Group recovery as a choice: a guard on every host, of which the head's watches all ranks. See docs/adr."""
