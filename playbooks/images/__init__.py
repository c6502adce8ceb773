"""Container images: what a reference names, what a registry or an archive says of it."""
