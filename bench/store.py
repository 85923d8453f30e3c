"""Results as JSON: what was measured, where, and with which versions."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LATEST = HERE / "latest.json"  # what the last run measured
STORED = HERE / "stored.json"  # what `make bench-check` compares with


def machine() -> str:
    """The processor and the Python, in words."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def write(results: dict[str, Any], path: Path) -> None:
    """Nothing; the results are in the file."""
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def read(path: Path) -> dict[str, Any]:
    """What was written there."""
    return json.loads(path.read_text())  # type: ignore[no-any-return]
