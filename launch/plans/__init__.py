"""What a launch would be and why: the document that `plan` writes, draws, compares and turns into files."""
