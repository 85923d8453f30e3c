"""No hostile file is reported as safe: every payload, at every position that a loader reads, in every container."""

import functools
import importlib.util
import itertools
import shutil

import pytest

from ramet._files import scan
from tests.files import attack, attack_tf_keras
from tests.files.watch import watched

pytestmark = pytest.mark.no_backend

_HAS_TF_KERAS = importlib.util.find_spec("tf_keras") is not None
needs_tf_keras = pytest.mark.skipif(
    not _HAS_TF_KERAS, reason="tf_keras, another loader of these files, is not installed; `make test` installs it"
)


@functools.cache
def _positions(container):
    config, load, _ = attack.CONTAINERS[container]
    return attack.reached(config(), load)


def _spread(places, count):
    """Return `count` of the places, spread evenly."""
    return [places[number * len(places) // count] for number in range(min(count, len(places)))]


def _name(container, stem):
    return stem if container == "folder" else f"{stem}{container}"


def _called_safe(folder, container, config, places, write):
    """Return the payloads, with their places, in files that the scan reports as safe."""
    found = []
    for (name, payload), place in itertools.product(attack.PAYLOADS.items(), places):
        path = write(folder / _name(container, "one"), attack.put(config, place, payload(folder)))
        if scan(path, isolated=False).verdict == "safe":
            found.append((name, place))
    return found


@pytest.mark.parametrize("container", attack.CONTAINERS)
@pytest.mark.parametrize("name", attack.PAYLOADS)
def test_payload_in_a_config_is_not_safe(tmp_path, name, container):
    config, _, write = attack.CONTAINERS[container]
    payload, clean = attack.PAYLOADS[name](tmp_path), config()
    missed = []
    # A folder has the same config as an archive: some of the positions are enough.
    places = _spread(_positions(".keras"), 6) if container == "folder" else _positions(container)

    for number, place in enumerate(places):
        path = write(tmp_path / _name(container, str(number)), attack.put(clean, place, payload))
        if scan(path, isolated=False).verdict == "safe":
            missed.append(place)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    assert missed == []


@pytest.mark.parametrize("container", attack.CONTAINERS)
def test_same_file_without_a_payload_is_safe(tmp_path, container):
    config, _, write = attack.CONTAINERS[container]
    path = write(tmp_path / _name(container, "m"), config())

    assert scan(path, isolated=False).findings == ()


def test_loaders_read_objects_at_many_positions():
    # Without this, a change in Keras could leave the tests above with nothing to check.
    assert len(_positions(".keras")) >= 20
    assert len(_positions(".h5")) >= 5


@pytest.mark.parametrize("container", attack.WEIGHT_CONTAINERS)
@pytest.mark.parametrize("name", attack.WEIGHT_PAYLOADS)
def test_payload_in_weights_is_not_safe(tmp_path, name, container):
    write = attack.WEIGHT_CONTAINERS[container]
    (tmp_path / "secret.bin").write_bytes(b"secret" * 100)
    missed = []

    for number, place in enumerate(attack.WEIGHT_PLACES):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write(folder, attack.weights_with(place, attack.WEIGHT_PAYLOADS[name], tmp_path))
        if scan(path, isolated=False).verdict == "safe":
            missed.append(place)

    assert missed == []


@pytest.mark.parametrize("container", attack.WEIGHT_CONTAINERS)
def test_same_weights_without_a_payload_are_safe(tmp_path, container):
    path = attack.WEIGHT_CONTAINERS[container](tmp_path, attack.weights_with(None, None, tmp_path))

    assert scan(path, isolated=False).findings == ()


# The effects of real loaders on these files, in a process that is watched.


def _hostile_files(folder, container, config, places, write):
    """Write a file for each payload at some of the places; the first place is the whole config."""
    found = {}
    for (name, payload), place in itertools.product(attack.PAYLOADS.items(), _spread(places, 6)):
        path = folder / str(len(found)) / _name(container, "m")
        path.parent.mkdir()
        found[write(path, attack.put(config, place, payload(folder)))] = (name, place)
    return found


def _check(folder, loader, files):
    """Check that the scan reports every file with an effect, and return the payloads that had one."""
    (folder / "words").write_text("a\nb\n")
    done = watched(files, loader)
    harmful = {path: happened for path, happened in done.items() if happened}
    surprises = {
        files[path]: happened for path, happened in harmful.items() if scan(path, isolated=False).verdict == "safe"
    }
    assert surprises == {}
    return {files[path][0] for path in harmful}


@pytest.mark.slow
@pytest.mark.parametrize("container", [".keras", ".h5"])
def test_scan_predicts_every_effect_of_keras(tmp_path, container):
    config, _, write = attack.CONTAINERS[container]
    files = _hostile_files(tmp_path, container, config(), _positions(container), write)

    ran = _check(tmp_path, "keras", files)

    # Keras itself refuses most of them today. The rest depends on its release.
    assert ran <= attack.PAYLOADS.keys()


@needs_tf_keras
@pytest.mark.slow
def test_scan_predicts_every_effect_of_tf_keras(tmp_path):
    files = {}
    for container, (config, places) in attack_tf_keras.positions().items():
        write = {".keras": attack.archive, ".h5": attack.as_legacy}[container]
        folder = tmp_path / container[1:]
        folder.mkdir()
        assert scan(write(folder / f"m{container}", config), isolated=False).findings == ()
        assert len(places) >= 5
        assert _called_safe(folder, container, config, places, write) == []
        files |= _hostile_files(folder, container, config, places, write)

    ran = _check(tmp_path, "tf_keras", files)

    # tf_keras runs many of them. If nothing is recorded, then nothing was watched.
    assert len(ran) >= 3, ran
