"""Parts of requests of OAuth2 clients: authentication, redirect URIs and errors."""
