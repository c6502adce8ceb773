"""From a decision to what hosts are given: environments, images, commands, units, records."""
