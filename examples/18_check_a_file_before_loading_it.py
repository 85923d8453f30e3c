"""How do I find out what a model file from the internet would run, before I load it?"""

import json
import subprocess
import sys

import keras


def scan(path):
    """The verdict of `ramet scan`, which reads the file as data: nothing in it is imported or run."""
    command = [sys.executable, "-m", "ramet", "scan", path, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


layers = keras.layers
plain = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(2)])
plain.compile("adam", "mse")
plain.save("plain.keras")
code = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2, name="double")])
code.save("code.keras")

for path in ("plain.keras", "code.keras"):
    exit_code, report = scan(path)
    print(f"{path}: {report['verdict']}, exit code {exit_code}")
    for finding in report["findings"]:
        print(f"  {finding['path']}: {finding['what']}")

assert scan("plain.keras")[0] == 0
exit_code, report = scan("code.keras")
assert exit_code != 0
assert [finding["path"] for finding in report["findings"] if finding["severity"] == "unsafe"] == ["double"]
