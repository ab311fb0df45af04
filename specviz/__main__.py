"""``python -m specviz`` is the command ``specviz``."""

import sys

from specviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
