"""What ranks compile and tune: where it lies, what it was made with, and how all hosts come to have all of it."""
