"""Clients that act as users and bots of a rehearsal: over the public API, a gateway session and voice.

The control API (`/control/people`) and the pytest plugin both use them, so an action behaves the same in both.
"""
