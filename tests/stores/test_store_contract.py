"""The store contract, for every store."""

from contracts.store_contract import StoreContract


class TestEveryStore(StoreContract):
    """The tests are those of the contract."""
