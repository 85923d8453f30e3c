"""The scan compared with a real loader: mutated configs are loaded in a watched process.

Any effect of a file that the scan calls safe is a gap in the scan, and so is any effect of a file that a port has written.
`python -m tests.fuzz --differential` looks for gaps.
"""

import functools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

from tests.files.places import places, put

_ROOT = Path(__file__).parents[2]
_KEYS = (
    "class_name",
    "module",
    "registered_name",
    "config",
    "fn",
    "function",
    "vocabulary",
    "weights",
    "items",
    "value",
)
_MODULES = (
    *("keras", "keras.layers", "keras.utils", "keras.models", "keras.saving", "keras.config", "keras.applications"),
    *("keras.datasets.mnist", "keras.callbacks", "keras.src.utils.file_utils", "os", "builtins", "subprocess", "this"),
    *("keras_hub", "tf_keras.layers", "keras.src.saving.saving_lib", "keras.export", "keras.tree", None, "", 5),
)
_NAMES = (
    *(
        "function",
        "Dense",
        "Lambda",
        "TFSMLayer",
        "TorchModuleWrapper",
        "StringLookup",
        "TextVectorization",
        "MobileNet",
    ),
    *(
        "load_model",
        "get_file",
        "load_data",
        "system",
        "eval",
        "deserialize",
        "layers.Lambda",
        "__lambda__",
        "__tuple__",
    ),
    *(
        "__slice__",
        "__typespec__",
        "__numpy__",
        "__keras_tensor__",
        "a>b",
        "ResidualWrapper",
        "TFOpLambda",
        "Sequential",
    ),
)


def make(loader, seed, number, folder):
    """Return a config by its number: one that the loader's library has written, with one to three changes.

    Returns:
        The suffix of the file to write, and the config.
    """
    from tests.files import attack

    chance = random.Random(f"{seed}/{number}")
    container = chance.choice([".keras", ".keras", ".h5"])
    config = _clean(loader)[container]
    payloads = [payload(folder) for payload in attack.PAYLOADS.values()]
    for _ in range(chance.choice([1, 1, 2, 3])):
        # The root of a `.h5` file consists of two texts, which cannot be replaced as a whole.
        found = [path for path in places(config) if path or container == ".keras"]
        objects = [path for path in found if isinstance(_at(config, path), dict) and "class_name" in _at(config, path)]
        if objects and chance.random() < 0.5:
            # Replace an object by another one.
            config = put(config, chance.choice(objects), chance.choice(payloads))
            continue
        path = chance.choice(found)
        config = put(config, path, _changed(chance, config, path, found, payloads))
    return container, config


@functools.cache
def _clean(loader):
    """Return configs as the loader's own library writes them, by the suffix of the file."""
    from tests.files import attack, attack_tf_keras

    if loader == "tf_keras":
        return attack_tf_keras.configs()
    return {suffix: attack.CONTAINERS[suffix][0]() for suffix in (".keras", ".h5")}


def _at(config, path):
    for key in path:
        config = config[key]
    return config


def _changed(chance, config, path, found, payloads):
    """Return another value for a position: a payload, part of one, a name, another value, or the old one wrapped."""
    old = _at(config, path)
    kind = chance.randrange(6)
    if kind == 0 or path == ():
        return chance.choice(payloads)
    if kind == 1:
        payload = chance.choice(payloads)
        return _at(payload, chance.choice(list(places(payload))))
    if kind == 2:
        return {
            "class_name": chance.choice(_NAMES),
            "module": chance.choice(_MODULES),
            "config": old,
            "registered_name": chance.choice(_NAMES),
        }
    if kind == 3:
        return _at(config, chance.choice(found))
    if kind == 4 and isinstance(old, dict):
        key = chance.choice([*old, *_KEYS])
        return {**old, key: chance.choice([*_MODULES, *_NAMES, *payloads])}
    return chance.choice(
        [[old], {chance.choice(_KEYS): old}, {"value": [chance.choice(payloads)]}, chance.choice(_NAMES)]
    )


def _ported(path, target, loader):
    """Return a file for the loader that a port has written, or None if the config is refused."""
    from ramet import port
    from ramet._files import scan
    from ramet.errors import RametError

    tempfile.tempdir = None  # the loader has set it to a folder that is gone
    if loader == "keras":
        target = target.with_suffix(".keras")
    try:
        report = port(path, target, to="tf_keras" if loader == "tf_keras" else None, isolated=False)
    except RametError:
        return None
    # A file that is current already is copied with the names of the user's classes in it.
    return None if report.is_current and scan(target, isolated=False).verdict == "needs trust" else target


def main(loader, seed, start, step, count, keep, prepare):
    """Load inputs, and write counts and failures to stdout."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from ramet._files import scan
    from ramet.errors import ModelFileError
    from tests.files import attack
    from tests.files.watch import loader_of

    load = loader_of(loader)
    if prepare:
        module, _, function = prepare.partition(":")
        getattr(import_module(module), function)()
    # A config may contain a layer of any size; if it does not fit, Keras fails, which does not matter here.
    taken = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + 2 * 2**30, resource.RLIM_INFINITY))
    counts, wrong = Counter(), {}
    with tempfile.TemporaryDirectory(prefix="ramet-fuzz-") as folder:
        outside = Path(folder, "outside")
        outside.mkdir()
        (outside / "words").write_text("a\nb\n")
        for number in range(start, count, step):
            container, config = make(loader, seed, number, outside)
            place = Path(folder, str(number))
            place.mkdir()
            path = attack.CONTAINERS[container][2](place / f"m{container}", config)
            try:
                verdict = scan(path, isolated=False).verdict
            except ModelFileError as error:
                verdict = type(error).__name__
            happened = load(str(path))
            counts[verdict] += 1
            counts["did something"] += bool(happened)
            ported = _ported(path, place / f"ported{container}", loader)
            counts["ported"] += ported is not None
            happened = happened if verdict == "safe" else []
            happened += load(str(ported)) if ported is not None else []
            if happened:
                wrong[number] = happened[:3]
                keep.mkdir(parents=True, exist_ok=True)
                path.rename(keep / f"{seed}-{number}{container}")
    answers.write(json.dumps([counts, wrong]))
    answers.flush()


def campaign(count, seed, *, jobs, keep, loader="keras", prepare=""):
    """Return counts of verdicts, and the effects of files that the scan called safe, by number."""
    program = "import sys, json; from tests.fuzz.differential import main; from pathlib import Path; a = json.loads(sys.argv[1]); main(*a[:5], Path(a[5]), a[6])"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program, json.dumps([loader, seed, start, jobs, count, str(keep), prepare])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )
        for start in range(jobs)
    ]
    counts, wrong = Counter(), {}
    for worker in workers:
        out, errors = worker.communicate()
        if worker.returncode:
            raise RuntimeError(f"a process of the campaign ended with {worker.returncode}:\n{errors[-2000:]}")
        own_counts, own_wrong = json.loads(out)
        counts.update(own_counts)
        wrong |= {int(number): happened for number, happened in own_wrong.items()}
    return counts, wrong
