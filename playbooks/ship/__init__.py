"""Files from the control machine to one host, and from that to the others."""
