"""Other frameworks and the services' own packages, each doing what we are measured by.

A module is run in an environment of its own and makes a `Peer`, as
`benchmarks.peer_process` asks for it.
"""
