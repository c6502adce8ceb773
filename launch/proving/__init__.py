"""What was installed is proved before it is called installed."""
