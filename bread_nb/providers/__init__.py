"""Models: one way to ask them all, and a dialect for each service."""

__all__: list[str] = []
