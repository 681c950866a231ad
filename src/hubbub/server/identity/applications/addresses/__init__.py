"""Validation of the addresses of applications: endpoints and redirect URIs."""
