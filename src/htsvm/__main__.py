"""``python -m htsvm`` is the command ``htsvm``."""

from htsvm.cli import main

if __name__ == "__main__":
    main()
