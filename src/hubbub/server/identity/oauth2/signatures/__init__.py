"""Signatures of ID tokens, and the keys that sign them."""
