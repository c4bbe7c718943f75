from __future__ import annotations

from pathlib import Path

from examples.digits_wrong_labels import main


def test_least_trusted_digits_are_wrong_and_drawn(tmp_path):
    picture = tmp_path / "digits.png"
    assert main(str(picture)) >= 0.8
    assert Path(picture).stat().st_size > 10_000
