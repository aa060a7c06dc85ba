"""`python -m bread_nb`: the command `bread` of this very Python."""

from __future__ import annotations

import sys

from bread_nb.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
