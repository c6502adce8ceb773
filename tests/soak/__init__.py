"""Long trials by chance, each a program: `python -m tests.soak.NAME --rounds N`. The suite runs a few rounds."""
