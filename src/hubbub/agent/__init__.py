"""The local agent: a program on a player's machine that serves RPC requests of games on behalf of the signed-in user.

It uses the protocol and the SDK's transport, and does not depend on the server (spec/rpc.md#12, decisions/0051).
"""
