"""Commands on hostile files: odd names, modules in the current folder, files that take too much."""

import shutil
import signal
import subprocess
import sys
import threading
import time

import keras
import pytest

from ramet._cli import bounded
from ramet._cli.bounded import _size
from ramet.errors import OutOfBudgetError
from tests.files.build import DENSE_WEIGHTS, TINY, archive, sharded, weights
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend

BACKEND = keras.backend.backend()
NAME = "a\nb\x1b[31m.keras"


@pytest.fixture
def odd_name(tmp_path):
    return archive(tmp_path / NAME)


@posix
@pytest.mark.parametrize(
    "command",
    [
        ("show", NAME),
        ("show", NAME, "--draw", "a\nb.svg"),
        ("scan", NAME),
        ("diff", NAME, "other\n.keras"),
        ("show", "missing\n.keras"),
        ("scan", "missing\n.keras"),
        ("clone", NAME, "no\nfolder/out.keras"),
        ("clone", "missing\n.keras", "out.keras"),
        ("verify", "missing\n.keras", NAME),
        ("edit", NAME, "out.keras", "--recipe", "missing\n.toml"),
    ],
)
def test_file_names_are_escaped(ramet, tmp_path, odd_name, command):
    shutil.copyfile(odd_name, tmp_path / "other\n.keras")

    done = ramet(*command)

    assert done.code in (0, 1, 2, 3), done.err
    for text in (done.out, done.err):
        assert "\x1b" not in text
        assert "a\nb" not in text
        assert "missing\n" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("scan", "m.keras"),
        ("clone", "m.keras", "twin.keras"),
        ("verify", "m.keras", "--backends", "jax,tensorflow"),
        ("verify", "m.keras", "m.keras", "--backends", BACKEND, "--only", "structure"),
    ],
)
def test_nothing_is_imported_from_the_current_folder(tmp_path, command):
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)]).save(tmp_path / "m.keras")
    for name in ("h5py", "numpy", "json", "keras", "zipfile"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")

    done = subprocess.run(
        [sys.executable, "-m", "ramet", *command], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "not run" not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("scan", "large.keras"),
        ("show", "large.keras"),
        ("show", "large.keras", "--draw", "out.html"),
        ("diff", "small.keras", "large.keras"),
        ("clone", "large.keras", "out.keras"),
    ],
)
def test_file_that_takes_too_much_is_refused(ramet, tmp_path, command):
    archive(tmp_path / "small.keras")
    archive(tmp_path / "large.keras", {**TINY, "more": [{}] * 600_000})

    done = ramet(*command)

    assert done.code == 3, (done.out, done.err)
    assert "objects and lists." in done.err
    assert len(done.err.splitlines()) <= 3


def test_limits_of_sharded_weights_depend_on_the_size_of_all_shards(tmp_path):
    path = sharded(tmp_path / "m.weights.json", {f"m_0000{number}.weights.h5": DENSE_WEIGHTS for number in range(3)})
    (tmp_path / "other_00000.weights.h5").write_bytes(bytes(100))

    assert _size(path) == path.stat().st_size + 3 * len(weights(DENSE_WEIGHTS))


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture(params=["timer", "watch"])
def limited(request, monkeypatch, tmp_path, handle_interrupts):
    """Return the limits of a file with one second of processor time, as on POSIX and as on Windows."""
    if request.param == "watch":
        monkeypatch.delattr(signal, "setitimer", raising=False)
    elif not hasattr(signal, "setitimer"):
        pytest.skip("Windows has no timers that send signals; Linux and macOS run this")
    monkeypatch.setattr(bounded.Limits, "within", lambda self, size: bounded.Limits(seconds=1))
    return lambda: bounded.bounded([archive(tmp_path / "m.keras")])


def test_command_that_computes_too_long_is_ended(limited):
    before, threads = signal.getsignal(signal.SIGINT), set(threading.enumerate())

    with pytest.raises(OutOfBudgetError, match="more than 1 second of processor time"), limited():
        compute(60)

    assert signal.getsignal(signal.SIGINT) == before
    assert set(threading.enumerate()) <= threads


def test_exception_for_time_is_raised_again_if_it_was_swallowed(limited):
    with pytest.raises(OutOfBudgetError), limited():  # noqa: PT012  # the first one is swallowed
        try:
            compute(60)
        except BaseException:  # noqa: BLE001
            compute(60)


def test_time_in_which_a_command_waits_does_not_count(limited):
    with limited():
        time.sleep(1.5)


def test_interrupt_is_not_mistaken_for_the_end_of_the_time(limited):
    with pytest.raises(KeyboardInterrupt), limited():
        signal.raise_signal(signal.SIGINT)


def test_signal_handler_is_restored_after_a_command(limited):
    before = signal.getsignal(signal.SIGINT)

    with limited():
        compute(0.1)

    assert signal.getsignal(signal.SIGINT) is before
    compute(1.5)
