"""The Tokios connector: an outgoing tunnel from the head, through which Tokios' gateway reaches a private model."""
