"""Build hook: compile the walk of the copier (src/ramet/_copy/_compiled).

If that fails, or the compiled walk does not support the running Python, the package is built without it, and the walk in
Python does the same, more slowly. Such a wheel is pure and works everywhere. RAMET_PURE_PYTHON=1 asks for it, and
RAMET_REQUIRE_COMPILED=1 turns a failed compilation into an error.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src/ramet/_copy/_compiled/walk.pyx")
MODULE = "ramet._copy._compiled.walk"
# Without debug information, which would be nine tenths of the file.
_OPTIONS = [] if sys.platform == "win32" else ["-g0"]


class CompiledWalkHook(BuildHookInterface):
    """Compile next to the sources, so that an editable installation finds the module, too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run before files are collected for a wheel or an editable installation."""
        if self.target_name != "wheel":
            return
        try:
            built = compile_walk(Path(self.root))
        except Exception as error:  # no compiler, no headers, another system: not an error unless asked for
            if os.environ.get("RAMET_REQUIRE_COMPILED"):
                raise
            self.app.display_warning(f"Built without the compiled walk, so cloning takes longer: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"].append(str(built.relative_to(self.root)))


def compile_walk(root: Path) -> Path:
    """Compile the extension module for the running Python and return its path."""
    # One file of the package, which cannot be imported because its dependencies are not installed here.
    reason = runpy.run_path(str(root / SOURCE.parent / "__init__.py"))["why_not_compile"]()
    if reason is not None:
        raise RuntimeError(reason)

    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    with tempfile.TemporaryDirectory() as folder:
        extensions = cythonize(
            [Extension(MODULE, [str(root / SOURCE)], extra_compile_args=_OPTIONS)],
            build_dir=folder,
            language_level=3,
            quiet=True,
        )
        command = build_ext(Distribution({"name": "ramet", "ext_modules": extensions}))
        command.build_lib = command.build_temp = folder
        command.ensure_finalized()
        command.run()
        built = Path(command.get_ext_fullpath(MODULE))
        target = root / SOURCE.parent / built.name
        # Moved into place in one step: another process may be importing the old one.
        beside = target.with_suffix(".new")
        shutil.copy2(built, beside)
        beside.replace(target)
    return target
