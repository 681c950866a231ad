"""Voice packets: RTP, its transport encryption, and the other datagrams of the voice protocol (spec/voice.md#7).

The voice server, the SDK's calls and the clients of a rehearsal share this package. It performs no I/O. `ciphers` needs
the package cryptography, and PyNaCl for all modes except the AES-GCM ones, so only modules that handle packets import it.
"""
