from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest
from typer.testing import CliRunner

from htsvm import __version__, cli
from htsvm_paper.experiments.demo import experiment


@pytest.fixture
def runner():
    return CliRunner()


@pytest.fixture
def tiny(monkeypatch):
    settings = replace(experiment.QUICK, rates=(0.0, 0.2), penalties=(0.125,), repetitions=1)
    monkeypatch.setattr(experiment, "QUICK", settings)


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
    monkeypatch.setattr(sys, "argv", ["htsvm", "demo"])
    with pytest.raises(SystemExit, match=r"needs typer, rich, matplotlib. Install"):
        cli.main()


def test_versions(runner):
    result = runner.invoke(cli.build_app(), ["versions"])
    assert result.exit_code == 0
    assert __version__ in result.output
    assert "kernels" in result.output


def test_help_names_the_commands(runner):
    result = runner.invoke(cli.build_app(), ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "versions" in result.output


def test_demo_prints_tables_and_writes_the_report(runner, tiny, tmp_path):
    path = tmp_path / "out.html"
    result = runner.invoke(
        cli.build_app(), ["demo", "--quick", "--output", str(path), "--seed", "1"]
    )
    assert result.exit_code == 0, result.output
    for text in ("HTSVC", "LinearSVC", "% wrong labels ignored", "Highest mean", f"Report: {path}"):
        assert text in result.output
    assert "…" not in result.output, "the table does not fit into 80 columns"
    assert "Seed 1" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_demo_names_an_unwritable_path_before_it_works(runner, monkeypatch, tmp_path):
    monkeypatch.setattr(experiment, "run", lambda *_: pytest.fail("must not start"))
    path = tmp_path / "nowhere" / "out.html"
    result = runner.invoke(cli.build_app(), ["demo", "--output", str(path)])
    assert result.exit_code == 1
    assert f"cannot write the report to {path}" in result.stderr
    assert "does not exist" in result.stderr
    assert "Traceback" not in result.stderr


def test_demo_refuses_a_negative_seed(runner):
    assert runner.invoke(cli.build_app(), ["demo", "--seed", "-1"]).exit_code == 2


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX systems")
def test_interrupt_ends_with_one_line_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", "from htsvm.cli import main; main()", "demo"]
    # Tests that were started in the background of a shell ignore interrupts, and so would it.
    heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed,
    )  # fmt: skip
    limit = time.monotonic() + 30
    while not list(tmp_path.glob(".*.tmp")) and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.strip().splitlines() == ["htsvm: interrupted; no report was written."]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", ["typer", "rich", "matplotlib"])
def test_missing_extra_is_named(missing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    message = str(stop.value.code)
    assert missing in message
    assert 'pip install "htsvm[demo]"' in message
