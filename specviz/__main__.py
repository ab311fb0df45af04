"""``python -m specviz`` is the command ``specviz``."""

from specviz.cli import main

if __name__ == "__main__":
    main()
