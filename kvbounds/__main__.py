"""``python -m kvbounds`` and the command ``kvbounds``."""

from __future__ import annotations

from kvbounds.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
