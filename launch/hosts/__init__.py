"""What hosts are: asked, kept, compared, and shown to a person."""
