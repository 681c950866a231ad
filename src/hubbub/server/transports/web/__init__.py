"""Web server: the HTML pages and the chat client. Pages call API operations, so they can do nothing the API cannot."""
