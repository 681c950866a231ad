"""Talk tier: messages and everything attached to them."""
