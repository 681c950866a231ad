"""ID tokens of external issuers: issuer URLs, discovery of keys, and verification."""
