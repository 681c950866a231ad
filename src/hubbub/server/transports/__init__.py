"""Network servers: HTTP, gateway, voice, web pages, CDN and the activity proxy."""
