"""Plans and their documents."""
