"""Transfer of guilds: export to archives, and import of archives, templates and chat exports (decisions/0128, 0129)."""
