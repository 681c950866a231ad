"""Voice packets: RTP, its transport encryption, and the other datagrams of the voice protocol (spec/voice.md#7).

The voice server and the SDK's calls share this package. It performs no I/O. `ciphers` needs the package cryptography,
and PyNaCl for all modes except the AES-GCM ones, so only modules that handle packets import it.
"""
