"""Backups of a whole server: database and files with a manifest, their restoration, and the drill that checks them.

A backup is a folder (decisions/0147). Its database is a copy of the embedded database or a dump of PostgreSQL.
"""
