"""The local agent: the program on a player's machine that games ask through a socket, for the person who is signed in.

It stands on the protocol and on the SDK's way to the platform, and needs nothing of the server (rpc.md, decisions/0051).
"""
