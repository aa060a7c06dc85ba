"""The command line: `bread`."""
