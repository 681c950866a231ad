"""Credentials of accounts: passwords, authenticator codes, and the limit of failed attempts."""
