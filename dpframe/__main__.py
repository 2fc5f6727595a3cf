"""`python -m dpframe` is `dpframe`."""

import sys

from dpframe.cli import main

if __name__ == "__main__":
    sys.exit(main())
