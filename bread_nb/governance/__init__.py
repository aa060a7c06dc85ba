"""Who may do what: permissions, rules and the one gate."""

from bread_nb.governance.permissions import Permissions

__all__ = ["Permissions"]
