from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from htsvm import __version__, cli


@pytest.fixture
def runner():
    return CliRunner()


def test_version(runner):
    result = runner.invoke(cli.build_app(), ["--version"])
    assert result.exit_code == 0
    assert result.output.split() == ["htsvm", __version__]


@pytest.mark.parametrize("argument", ["--version", "versions"])
def test_versions_need_no_extras(argument, monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["htsvm", argument])
    cli.main()
    assert __version__ in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["htsvm", "audit"])
    with pytest.raises(SystemExit, match=r"needs typer, rich, pandas. Install"):
        cli.main()


def test_versions(runner):
    result = runner.invoke(cli.build_app(), ["versions"])
    assert result.exit_code == 0
    assert __version__ in result.output
    assert "kernels" in result.output


def test_help_names_the_commands(runner):
    result = runner.invoke(cli.build_app(), ["--help"])
    assert result.exit_code == 0
    assert "audit" in result.output
    assert "versions" in result.output


@pytest.mark.parametrize("missing", ["typer", "rich", "pandas"])
def test_missing_extra_is_named(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    message = str(stop.value.code)
    assert missing in message
    assert 'pip install ".[audit]"' in message
