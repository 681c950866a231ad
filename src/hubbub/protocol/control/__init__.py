"""Operations of the control API of a rehearsal, with their request and response bodies (docs/control.md).

The server handles these operations, the clients of users and the pytest plugin call them, and the OpenAPI document and the
JavaScript package are generated from them (decisions/0163). Paths are below `/control`. A module declares one subject, so
that the pytest plugin imports only those that it uses.
"""
