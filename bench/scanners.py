"""`ramet scan` compared with other scanners of model files, on the hostile corpus of the tests and on clean files.

Run it from the root of the repository: `python -m bench.scanners PYTHON`, with the Python of an environment that has the other
scanners, as `make scanners` does. Each is called by its documented function, with its default settings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.table import grid
from ramet._files import scan
from ramet.errors import ModelFileError
from tests.files import attack, build, hostile
from tests.files.clean import CLEAN as CLEAN_FILES

CODE, REACH, HARM, CLEAN = "contains or names code", "reaches other files", "crafted to harm", "clean"
CROSSED = "payload in any position"
FOUND = "found"

# The hostile configs that contain and name no code, but make Keras read other files or addresses.
_REACHING = frozenset({"vocabulary_file", "vocabulary_address", "saved_model_layer", "get_file"})

# Prints the versions and, by path, the result of each scanner: "found", "clean", or why it has none.
_PROGRAM = """
import importlib.metadata, json, logging, sys
logging.disable(logging.CRITICAL)
from modelscan.modelscan import ModelScan
from picklescan.scanner import scan_file_path

def modelscan(path):
    found = ModelScan().scan(path)
    if found["issues"]:
        return "found"
    if found["errors"]:
        return "error: " + " ".join(found["errors"][0]["description"].split())[:60]
    return "clean" if found["summary"]["scanned"]["total_scanned"] else "skipped"

def picklescan(path):
    found = scan_file_path(path)
    return "found" if found.issues_count else "error" if found.scan_err else "clean" if found.scanned_files else "skipped"

def result(scanner, path):
    try:
        return scanner(path)
    except Exception as error:
        return f"error: {type(error).__name__}"

versions = {name: importlib.metadata.version(name) for name in ("modelscan", "picklescan")}
paths = json.load(sys.stdin)
results = {path: {"modelscan": result(modelscan, path), "picklescan": result(picklescan, path)} for path in paths}
json.dump({"versions": versions, "results": results}, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of the corpus.

    Attributes:
        name: A short description.
        group: What the file would do.
        path: The file.
    """

    name: str
    group: str
    path: Path


def main(python: str) -> None:
    """Print the table to stdout."""
    with tempfile.TemporaryDirectory(prefix="ramet-scanners-") as folder:
        samples = list(corpus(Path(folder)))
        others = _others(python, samples)
        results = {sample: {"ramet": _ramet(sample), **others["results"][str(sample.path)]} for sample in samples}
    versions = ", ".join(f"{name} {version}" for name, version in others["versions"].items())
    sys.stdout.write(f"{render(results)}\n\nramet from this repository; {versions}\n")


def corpus(folder: Path, positions: int | None = None) -> Iterator[Sample]:
    """Write the hostile files of the tests, and clean ones.

    Args:
        folder: The folder to write to.
        positions: The number of positions of each payload; all by default.
    """

    def sample(name: str, group: str, suffix: str, write: Callable[[Path], object]) -> Sample:
        path = folder / f"{name}{suffix}"
        write(path)
        return Sample(name.replace("_", " "), group, path)

    for name, config in hostile.CONFIGS.items():
        group = REACH if name in _REACHING else CODE
        yield sample(name, group, ".keras", lambda path, config=config: build.archive(path, config(folder)))
    yield sample("lambda_in_a_file_of_keras_2", CODE, ".h5", hostile.legacy_lambda)
    for name, write in hostile.ARCHIVES.items():
        yield sample(name, HARM, ".keras", write)
    for name, text in hostile.TEXTS.items():
        yield sample(f"text_{name}", HARM, ".keras", lambda path, text=text: build.archive(path, text))
    for name, (edit, _) in hostile.WEIGHTS.items():
        data = build.weights(build.DENSE_WEIGHTS, edit=edit)
        group = REACH if name in ("external_link", "external_storage", "virtual") else HARM
        yield sample(f"weights_{name}", group, ".keras", lambda path, data=data: build.archive(path, arrays=data))
    yield from _crossed(folder, positions)
    for name, write in CLEAN_FILES.items():
        yield sample(f"clean_{name}", CLEAN, ".h5" if name.endswith("keras_2") else ".keras", write)


def _crossed(folder: Path, positions: int | None) -> Iterator[Sample]:
    """Write every payload of the attacks, in every position that Keras reaches, in every container."""
    for container in (".keras", ".h5"):
        make, load, write = attack.CONTAINERS[container]
        config = make()
        places = attack.reached(config, load)
        for name, payload in attack.PAYLOADS.items():
            for number, place in enumerate(places[:positions]):
                stem = f"{name}_{container.strip('.')}_{number}"
                path = folder / f"{stem}{container}"
                write(path, attack.put(config, place, payload(folder)))
                yield Sample(f"{name.replace('_', ' ')} ({container})", CROSSED, path)
    for container, write_weights in attack.WEIGHT_CONTAINERS.items():
        for name, put in attack.WEIGHT_PAYLOADS.items():
            for number, place in enumerate(attack.WEIGHT_PLACES):
                inside = folder / f"{name}_{container.strip('.')}_{number}_weights"
                inside.mkdir()
                path = write_weights(inside, attack.weights_with(place, put, folder))
                yield Sample(f"weights: {name.replace('_', ' ')} ({container})", HARM, path)


def render(results: dict[Sample, dict[str, str]]) -> str:
    """Return a table with one line per file, and one with the number of files that each scanner found in each group."""
    scanners = list(next(iter(results.values())))
    by_name: dict[tuple[str, str], list[dict[str, str]]] = {}
    for sample, words in results.items():
        by_name.setdefault((sample.name, sample.group), []).append(words)
    rows = [
        [*key, *(_together([one[scanner] for one in words]) for scanner in scanners)] for key, words in by_name.items()
    ]
    sums = []
    for group in (CODE, CROSSED, REACH, HARM, CLEAN):
        answers = [words for sample, words in results.items() if sample.group == group]
        counts = [sum(words[scanner] == FOUND for words in answers) for scanner in scanners]
        label = "false alarms, clean files" if group == CLEAN else f"found, {group}"
        sums.append([label, *(f"{count} of {len(answers)}" for count in counts)])
    return "\n".join([*grid(["file", "what it is", *scanners], rows), "", *grid(["sum", *scanners], sums)])


def _together(answers: list[str]) -> str:
    """Return the result of a scanner for files that differ only in the position of a payload."""
    if len(set(answers)) == 1:
        return answers[0]
    return f"{sum(answer == FOUND for answer in answers)} of {len(answers)} found"


def _ramet(sample: Sample) -> str:
    try:
        # The weights of these files are clean, so that no separate process is needed to read them.
        verdict = scan(sample.path, isolated=sample.group != CROSSED).verdict
    except ModelFileError:
        return "error"
    # A file that needs trust counts as found: the other scanners do not make this distinction.
    return "clean" if verdict == "safe" else FOUND


def _others(python: str, samples: list[Sample]) -> dict[str, dict[str, dict[str, str]]]:
    paths = json.dumps([str(sample.path) for sample in samples])
    done = subprocess.run([python, "-c", _PROGRAM], input=paths, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Cannot run the other scanners:\n{done.stderr}")
    # Libraries may print above the result.
    answer: dict[str, dict[str, dict[str, str]]] = json.loads(done.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    main(sys.argv[1])
