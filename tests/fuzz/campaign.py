"""A campaign: many inputs, each read in a worker process, and a summary of the results."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.case import KINDS, make

_ROOT = Path(__file__).parents[2]
# One input in so many is read as ramet does: with a separate HDF5 process for every file.
_SAMPLED = 200
# Factor on the time limit for inputs that need another process.
_PATIENCE = 4
_RENEWED = 5_000


@dataclass
class Summary:
    """The results of a campaign.

    Attributes:
        counts: The number of inputs by kind of mutation and answer of the reader.
        scanned: The number of inputs by answer of the scan.
        ported: The number of inputs by answer of the port to the newest Keras.
        sampled: The number of inputs that were read with HDF5 in a separate process.
        rescued: The number of inputs that crashed or blocked a worker in HDF5, and were refused with a separate process.
        wrong: Kind and text of each failure, by number of the input.
        seconds: The duration of the campaign.
    """

    counts: Counter = field(default_factory=Counter)
    scanned: Counter = field(default_factory=Counter)
    ported: Counter = field(default_factory=Counter)
    sampled: int = 0
    rescued: int = 0
    wrong: dict = field(default_factory=dict)
    seconds: float = 0.0

    def __str__(self):
        answers = sorted({answer for _, answer in self.counts}, key=lambda answer: (answer != "read", answer))
        rows = [["", *answers, "all"]]
        for kind in KINDS:
            row = [self.counts[kind, answer] for answer in answers]
            rows.append([kind, *(f"{count:,}" for count in row), f"{sum(row):,}"])
        totals = [sum(self.counts[kind, answer] for kind in KINDS) for answer in answers]
        rows.append(["all", *(f"{count:,}" for count in totals), f"{sum(totals):,}"])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(
                [f"{row[0]:<{widths[0]}}", *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))]
            )
            for row in rows
        ]
        scanned, ported = (
            ", ".join(f"{answer} {count:,}" for answer, count in sorted(counts.items()))
            for counts in (self.scanned, self.ported)
        )
        lines += [
            "",
            f"scanned: {scanned}",
            f"ported: {ported}",
            f"{self.sampled:,} with HDF5 in a separate process; {self.rescued:,} that crashed HDF5 were refused there",
            f"{len(self.wrong):,} wrong; {self.seconds / 60:.1f} minutes",
        ]
        return "\n".join(lines)


class Campaign:
    """Inputs by number, in worker processes.

    Args:
        count: The number of inputs.
        seed: The seed of the mutations.
        jobs: The number of processes.
        seconds: The time limit for one input.
        keep: The folder for inputs that failed.
        prepare: "module:function" that is called first in every worker; tests plant bugs with it.
    """

    def __init__(self, count, seed, *, jobs=2, seconds=10.0, keep, prepare=""):
        self._numbers = iter(range(count))
        self._count, self._seed, self._jobs, self._seconds = count, seed, jobs, seconds
        self._keep = keep
        self._prepare = prepare
        self._lock = threading.Lock()
        self._failed = []
        self.summary = Summary()

    def run(self, report=lambda text: None):
        """Read all inputs and return the summary; `report` is called with the progress."""
        start = time.monotonic()
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        reported = 0.0
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(0.2)
            taken = time.monotonic() - start
            if taken - reported > 10:
                reported = taken
                done = sum(self.summary.counts.values())
                report(
                    f"{done:,} of {self._count:,} inputs, {len(self.summary.wrong)} wrong, {done / taken:.0f} a second"
                )
        if self._failed:
            raise self._failed[0]
        self.summary.seconds = time.monotonic() - start
        return self.summary

    def _work(self):
        worker = None
        try:
            for looked_at in itertools.count():
                with self._lock:
                    number = next(self._numbers, None)
                if number is None:
                    break
                if worker is None or looked_at % _RENEWED == 0:
                    worker = self._renewed(worker)
                worker = self._look_at(number, worker)
        except BaseException as error:  # noqa: BLE001  # raised again by `run`
            self._failed.append(error)
        finally:
            if worker is not None:
                worker.close()

    def _renewed(self, worker):
        if worker is not None:
            worker.close()
        return _Worker(self._seed, self._prepare)

    def _look_at(self, number, worker):
        """Read and count an input, and return the worker to continue with."""
        sampled = number % _SAMPLED == 0
        answer = worker.ask(number, self._seconds * (_PATIENCE if sampled else 1), isolated=sampled)
        rescued = "ended" in answer and not sampled
        if rescued:
            # HDF5 may crash. ramet reads it in a separate process, so that is what counts.
            worker = self._renewed(worker)
            answer = worker.ask(number, self._seconds * _PATIENCE, isolated=True)
        if "ended" in answer:
            worker = self._renewed(worker)
        kind = answer.get("kind") or make(self._seed, number).kind
        with self._lock:
            self._count_in(number, kind, answer, sampled=sampled, rescued=rescued)
        return worker

    def _count_in(self, number, kind, answer, *, sampled, rescued):
        wrong = answer.get("ended") or answer.get("wrong")
        self.summary.counts[kind, "wrong" if wrong else answer["read"]] += 1
        self.summary.sampled += sampled
        if wrong:
            self.summary.wrong[number] = (kind, wrong)
            self._save(number, kind, wrong)
        else:
            self.summary.scanned[answer["scanned"]] += 1
            self.summary.ported[answer["ported"]] += 1
            self.summary.rescued += rescued

    def _save(self, number, kind, wrong):
        folder = self._keep / f"{self._seed}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        make(self._seed, number).write(folder)
        (folder / "report.txt").write_text(f"{kind}, seed {self._seed}, number {number}\n\n{wrong}\n")


class _Worker:
    """A process that reads inputs."""

    def __init__(self, seed, prepare):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(seed), prepare],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HDF5_PLUGIN_PRELOAD": "::"},
            text=True,
        )

    def ask(self, number, seconds, *, isolated):
        """Return the result for an input: "read", "scanned" and "ported"; "wrong", a traceback; or "ended", how the process ended."""
        request = {"number": number, "seconds": seconds, "isolated": isolated}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        code = self._process.wait()
        if code == -signal.SIGALRM:
            return {"ended": f"it took longer than {seconds:g} seconds"}
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"ended": f"the process ended with {how}"}

    def close(self):
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                continue
