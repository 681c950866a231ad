"""Voice packets: RTP, its transport encryption, and the other datagrams of the voice protocol (spec/voice.md#7).

The voice server and the SDK's calls share it. It performs no I/O. `ciphers` needs the package cryptography, and PyNaCl
for all modes but the first, so only modules that handle packets import it.
"""
