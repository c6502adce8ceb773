"""The field's own cases: a few files of each host, a part of a plan, and what the product must say of them."""
