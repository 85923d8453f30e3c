"""Build ramet for release and try the result: `make wheel`, or `python tools/wheel.py`.

The source distribution is built first, and everything else from it, outside the checkout: a pure wheel that works
everywhere, and one with the compiled walk for this platform. Without a compiler, the source distribution must give the
pure wheel again, byte by byte. Each wheel is installed with JAX into an empty environment and tried there (`smoke.py`). The
files are left in `dist/`.

With `--platforms`, only check that the dependencies have wheels wherever Keras itself can be installed from wheels.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILDERS = (*PROJECT["build-system"]["requires"], "build", "twine", "readme-renderer[md]")
# Tracked files that the source distribution does not need: they serve the repository.
LEFT_OUT = (".ci/", ".github/", ".gitattributes", ".gitignore")
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_28_aarch64",
    "musllinux_1_2_x86_64",
    "macosx_14_0_arm64",
    "macosx_10_15_x86_64",
    "win_amd64",
)
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Platform tags that a system accepts besides the one above: pip adds them to its own platform only.
OLDER = {
    "manylinux_2_28_x86_64": ("manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "manylinux_2_28_aarch64": ("manylinux_2_27_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "musllinux_1_2_x86_64": ("musllinux_1_1_x86_64",),
    "macosx_14_0_arm64": ("macosx_13_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
}


def main() -> int:
    """Run the steps and print a table of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platforms", action="store_true", help="only check the dependencies on other platforms")
    if parser.parse_args().platforms:
        return check_platforms()
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="ramet-wheel-") as name:
        release(Path(name), steps)
    steps.print_table()
    return 0


class Steps:
    """What was done, how long it took, and what came out."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, str]] = []
        self.last = time.monotonic()

    def done(self, what: str, result: str) -> None:
        """Record a step that has ended."""
        now = time.monotonic()
        self.rows.append((what, now - self.last, result))
        self.last = now
        print(f"{what}: {result}", flush=True)

    def print_table(self) -> None:
        """Print all steps."""
        width = max(len(what) for what, _, _ in self.rows)
        print()
        for what, seconds, result in self.rows:
            print(f"{what:<{width}}  {seconds:4.0f} s  {result}")


def release(work: Path, steps: Steps) -> None:
    """Build everything, check it, try it, and copy it to `dist/`."""
    builder = environment(work / "builder", *BUILDERS)
    steps.done("set up", "build tools")
    no_compiler = {"PATH": str(builder.parent), "CC": "false", "CXX": "false"}

    sdist = build(builder, ROOT, work / "sdist", "--sdist", **no_compiler)
    check_sdist(sdist)
    steps.done("source distribution", f"{sdist.name}, {size(sdist)}, built without a compiler")

    pure = build(builder, unpack(sdist, work / "1"), work / "pure", "--wheel", RAMET_PURE_PYTHON="1")
    check_wheel(pure, compiled=False)
    steps.done("pure wheel", f"{pure.name}, {size(pure)}")

    plain = build(builder, unpack(sdist, work / "2"), work / "plain", "--wheel", **no_compiler)
    check_equal(pure, plain)
    steps.done("without a compiler", "the source distribution gives the pure wheel, byte by byte")

    compiled = build(builder, unpack(sdist, work / "3"), work / "compiled", "--wheel", RAMET_REQUIRE_COMPILED="1")
    check_wheel(compiled, compiled=True)
    steps.done("compiled wheel", f"{compiled.name}, {size(compiled)}")
    again = build(builder, unpack(sdist, work / "4"), work / "again", "--wheel", RAMET_REQUIRE_COMPILED="1")
    check_equal(compiled, again)
    steps.done("compiled again", "the same bytes")

    call([builder, "-m", "twine", "check", "--strict", sdist, pure, compiled], cwd=work)
    steps.done("metadata", "complete; the long description renders (twine check --strict)")

    # Programs that run once need no optimization, and the second environment compiles the same ones as the first.
    settings = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0"}
    settings |= {"JAX_COMPILATION_CACHE_DIR": str(work / "jax"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    for wheel, walk in ((pure, "python"), (compiled, "compiled")):
        python = environment(work / walk, f"ramet[jax] @ {wheel.as_uri()}")
        call([python, "-m", "pip", "check"], cwd=work)
        print(call([python, "-I", ROOT / "tools" / "smoke.py", walk], cwd=work, **settings))
        steps.done(f"{walk} walk", "installed into an empty environment; demo and smoke test passed")

    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for file in (sdist, pure, compiled):
        shutil.copy2(file, dist)
    steps.done("files", f"in {dist}")


def environment(folder: Path, *packages: str) -> Path:
    """Make a virtual environment with these packages and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], cwd=folder)
    return python


def build(builder: Path, source: Path, out: Path, kind: str, **variables: str) -> Path:
    """Build one file and return it."""
    call([builder, "-m", "build", "--no-isolation", kind, "--outdir", out, source], cwd=out.parent, **variables)
    (built,) = out.iterdir()
    return built


def call(command: list[str | Path], cwd: Path, **variables: str) -> str:
    """Run a command in a folder, return its output, and end the program if it fails."""
    # The variables of the caller must not decide what is built and imported.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RAMET_", "KERAS_"))}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\nfailed with exit code {done.returncode}")
    return done.stdout.strip()


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution and return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


def check(condition: object, message: str) -> None:
    """End the program unless a condition is met."""
    if not condition:
        sys.exit(f"ramet: {message}")


def check_equal(one: Path, other: Path) -> None:
    """Check that two files have the same name and bytes."""
    check(one.name == other.name, f"{other.name} should be called {one.name}")
    check(one.read_bytes() == other.read_bytes(), f"two builds of {one.name} differ")


def check_sdist(sdist: Path) -> None:
    """Check that the source distribution has what is tracked, as far as it is needed to build, test and document."""
    with tarfile.open(sdist) as archive:
        found = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        print("not a git checkout: the source distribution is not compared with the tracked files")
        return
    wanted = {name for name in tracked.stdout.splitlines() if not name.startswith(LEFT_OUT)}
    found -= {"PKG-INFO", ".gitignore"}
    missing = sorted(name for name in wanted - found if (ROOT / name).exists())
    check(not missing, f"missing from the source distribution: {missing}; see `include` in pyproject.toml")
    check(found <= wanted, f"in the source distribution but not tracked: {sorted(found - wanted)}")


def check_wheel(wheel: Path, *, compiled: bool) -> None:
    """Check the tag, the files and the metadata of a wheel."""
    project = PROJECT["project"]
    tag = wheel.stem.split("-", 2)[2]
    check((tag == "py3-none-any") is not compiled, f"{wheel.name} has the wrong tag")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        info = f"ramet-{project['version']}.dist-info"
        fields = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    binaries = {name for name in names if name.endswith((".so", ".pyd"))}
    package = {name for name in names if name.startswith("ramet/")}
    rest = {name.removeprefix(f"{info}/") for name in names - package}
    check(len(binaries) == compiled, f"{wheel.name} contains {sorted(binaries) or 'no compiled walk'}")
    check(rest == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}, f"{wheel.name}: {rest}")
    expected = set(package_files())
    check(package - binaries == expected, f"{wheel.name}: unexpected {sorted((package - binaries) ^ expected)}")
    classifiers = fields.get_all("Classifier", [])
    for version in PYTHONS:
        check(f"Programming Language :: Python :: {version}" in classifiers, f"no classifier for Python {version}")
    check(fields["License-Expression"] == project["license"], "no license in the metadata")
    check(fields.get_payload(), "no long description in the metadata")


def package_files() -> Iterator[str]:
    """Yield the names of the package's files in a wheel: modules, types and data, without the source of the compiled walk."""
    for path in (ROOT / "src" / "ramet").rglob("*"):
        if path.suffix in {".py", ".pyi", ".json", ".js", ".css", ".html"} or path.name == "py.typed":
            yield path.relative_to(ROOT / "src").as_posix()


def size(file: Path) -> str:
    """Return the size of a file in words."""
    return f"{file.stat().st_size / 1000:,.0f} kB"


def check_platforms() -> int:
    """Look for wheels of ramet's and Keras' dependencies on other platforms, and print a table. Needs a package index."""
    ours = project_names(PROJECT["project"]["dependencies"])
    try:
        theirs = {"keras", *project_names(metadata.requires("keras") or [])}
    except metadata.PackageNotFoundError:
        sys.exit("ramet: Keras is not installed here: .venv/bin/python tools/wheel.py --platforms")
    print(f"ramet needs: {', '.join(sorted(ours))}\nKeras needs: {', '.join(sorted(theirs))}\n")
    problems = 0
    for platform in PLATFORMS:
        for version in PYTHONS:
            needed = sorted(ours | theirs)
            lacking = [] if have_wheels(needed, platform, version) else needed
            lacking = [name for name in lacking if not have_wheels([name], platform, version)]
            problems += bool(lacking) and theirs.isdisjoint(lacking)
            verdict = f"no wheel of {', '.join(lacking)}" if lacking else "ok"
            verdict += " (so Keras cannot be installed either)" if not theirs.isdisjoint(lacking) else ""
            print(f"{platform:<24}{version:<6}{verdict}", flush=True)
    return int(problems > 0)


def project_names(requirements: list[str]) -> set[str]:
    """Return the names of required projects, without versions and extras."""
    return {match[0] for line in requirements if "extra ==" not in line and (match := re.match(r"[\w-]+", line))}


def have_wheels(packages: list[str], platform: str, version: str) -> bool:
    """Return whether pip finds wheels of all these packages."""
    tags = [f"--platform={tag}" for tag in (platform, *OLDER.get(platform, ()))]
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--target=unused"]
    command += ["--no-deps", "--only-binary=:all:", *tags, f"--python-version={version}", *packages]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
