"""The start of a group under watch: what is told of it, how long each phase takes, and when one has stopped moving."""
