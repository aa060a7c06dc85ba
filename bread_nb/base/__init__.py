"""The ground floor: ids, names, schemas, redaction, retry."""

__all__: list[str] = []
