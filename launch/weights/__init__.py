"""The weights that hosts hold: what is where, whether it is still right, who needs it, and what may go."""
