"""Recordings of rehearsals: the inputs of a session, replayed against a changed program or turned into a test."""
