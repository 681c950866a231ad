"""Network servers: HTTP, gateway, voice, web, CDN and activities. They know no resource by name."""
