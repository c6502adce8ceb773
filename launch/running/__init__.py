"""A deployment that is there: what it is doing, what was done with it, and how it becomes an earlier one again."""
