"""``python -m htsvm_paper`` is the command ``htsvm-paper``."""

from htsvm_paper.cli import main

if __name__ == "__main__":
    main()
