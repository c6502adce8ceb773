"""What of a recipe is chosen for these very hosts, and what the operator set over it."""
