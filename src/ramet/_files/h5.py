"""HDF5 files, read through h5py: a listing that follows no links, and one array at a time. Runs in a separate process."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Group, H5Problem, Listing
from ramet._report import escape
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError

# Deflate, shuffle, checksum: built into HDF5. For others, it would search for a library and load it.
_FILTERS = {1, 2, 3}
_NUMBERS = "biufcV"
_SMALL = 16 * 2**20
_EXPANSION = 100
_TEXTS = ("model_config", "training_config", "keras_version", "backend")
_NAME_LISTS = ("layer_names", "weight_names")
_MOST_ATTRIBUTES = 10_000
_MOST_PROBLEMS = 1_000
# Longer descriptions of attributes are abbreviated.
_LONGEST_TEXT = 200


class H5File:
    """An untrusted HDF5 file. It closes the file that it reads."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        import h5py

        self._h5py = h5py
        self._limits = limits
        self._source = file
        try:
            self._root = h5py.File(file, "r")
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            file.close()
            raise _unreadable(error, file) from None

    def close(self) -> None:
        """Close the file."""
        self._root.close()
        self._source.close()

    def listing(self) -> Listing:
        """Return all groups and arrays in the file itself."""
        try:
            return _Walk(self._h5py, self._root, self._limits).listing
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            raise _broken(error) from None

    def read(self, path: str) -> Any:
        """Return an array by its path in the file."""
        import numpy as np

        try:
            dataset = self._reach(path)
            spec, _ = _spec(dataset, self._limits)
            if spec.refused:
                raise HostileFileError(f"Cannot read the array '{escape(path)}': {spec.refused}.", path=path)
            return np.asarray(dataset[()])
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            raise _broken(error, path) from None

    def _reach(self, path: str) -> Any:
        item = self._root
        for part in path.split("/"):
            link = item.get(part, getlink=True) if isinstance(item, self._h5py.Group) else None
            item = item[part] if isinstance(link, self._h5py.HardLink) else None
        if not isinstance(item, self._h5py.Dataset):
            raise ModelFileError(f"Cannot find the array '{escape(path)}' in the weights file.", path=path)
        return item


class _Walk:
    """One pass over a file, without recursion and without following links."""

    def __init__(self, h5py: Any, root: Any, limits: Limits) -> None:
        self._h5py = h5py
        self._limits = limits
        self._problems: list[H5Problem] = []
        # After a user block, the offsets that HDF5 reports are not those in the file.
        self._direct = root.file.userblock_size == 0
        self._seen: set[tuple[int, int]] = set()
        self._names = 0
        texts = {key: text for key in _TEXTS if isinstance(text := self._attribute(root, key), str)}
        self._found = Listing(texts=texts)
        waiting = [("", root)]
        while waiting:
            path, group = waiting.pop()
            inside = self._enter(path, group)
            if self._names > limits.names:
                raise OutOfBudgetError(
                    f"Cannot read the weights: the paths of all arrays add up to more than {limits.names:,} characters."
                )
            if path.count("/") + 2 > limits.group_depth and inside:
                self._report("depth", path, f"groups are nested more than {limits.group_depth} levels deep")
                continue
            waiting.extend(reversed(inside))
            if len(self._found.groups) + len(self._found.arrays) > limits.objects:
                self._report("crowd", path, f"the file contains more than {limits.objects:,} groups and arrays")
                break
        self.listing = replace(self._found, problems=tuple(self._problems))

    def _enter(self, path: str, group: Any) -> list[tuple[str, Any]]:
        """Add a group and its arrays, and return the groups inside."""
        inside: list[tuple[str, Any]] = []
        arrays: list[str] = []
        for name in group:
            if len(self._found.arrays) + len(arrays) > self._limits.objects:
                break
            inner = f"{path}/{name}" if path else name
            self._names += len(inner)
            item = self._item(group, name, inner)
            if isinstance(item, self._h5py.Group):
                inside.append((inner, item))
            elif isinstance(item, self._h5py.Dataset):
                arrays.append(name)
                self._describe(inner, item)
                self._found.arrays[inner], kind = _spec(item, self._limits, offset=self._direct)
                if kind:
                    self._report(kind, inner, self._found.arrays[inner].refused or "")
            elif item is not None:
                self._report("type", inner, f"it is a {type(item).__name__.lower()}, neither a group nor an array")
        names = tuple(inner.rpartition("/")[2] for inner, _ in inside)
        attributes = self._describe(path, group)
        own = self._attribute(group, "name") if "name" in attributes else None
        name_lists = self._name_lists(group, attributes) if attributes else {}
        self._found.groups[path] = Group(names, tuple(arrays), own if isinstance(own, str) else None, name_lists)
        return inside

    def _item(self, group: Any, name: str, path: str) -> Any:
        """Return the object with a name; None for a link, or for an object that has another path, too."""
        link = group.get(name, getlink=True)
        if isinstance(link, self._h5py.ExternalLink):
            self._report("external", path, f"it is a link into another file, {link.filename!a}")
            return None
        if not isinstance(link, self._h5py.HardLink):
            self._report("soft link", path, f"it is a link to {getattr(link, 'path', '?')!a}")
            return None
        try:
            item = group[name]
            info = self._h5py.h5o.get_info(item.id)
        except Exception as error:  # noqa: BLE001  # a broken object makes h5py raise anything
            self._report("broken", path, f"it cannot be opened ({' '.join(str(error).split())[:100]})")
            return None
        if (info.fileno, info.addr) in self._seen:
            self._report("cycle", path, "the same object has another path, too")
            return None
        self._seen.add((info.fileno, info.addr))
        return item

    def _describe(self, path: str, item: Any) -> Collection[str]:
        """Describe the attributes of a group or an array, except the texts of the root, and return the names of all."""
        count = self._h5py.h5a.get_num_attrs(item.id)
        if not count:
            return ()
        if count > _MOST_ATTRIBUTES:
            self._report("crowd", path, f"it has {count:,} attributes, of which {_MOST_ATTRIBUTES:,} are read")
        found: dict[str, str] = {}
        attributes = item.attrs
        names = list(itertools.islice(attributes, _MOST_ATTRIBUTES))
        for name in names:
            if path or name not in _TEXTS:
                try:
                    found[name] = _attribute_text(attributes[name])
                except Exception as error:  # noqa: BLE001  # a broken attribute makes h5py raise anything
                    found[name] = f"unreadable ({type(error).__name__})"
        if found:
            self._found.attributes[path] = found
        return names

    def _name_lists(self, group: Any, attributes: Collection[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for key in _NAME_LISTS:
            # Keras 2 splits lists that are too long for one attribute: layer_names0, layer_names1, ...
            numbered = (f"{key}{number}" for number in itertools.count())
            keys = [key] if key in attributes else itertools.takewhile(attributes.__contains__, numbered)
            parts = [self._attribute(group, part) for part in keys]
            if parts:
                found[key] = tuple(str(name) for part in parts if isinstance(part, list) for name in part)
        return found

    def _attribute(self, item: Any, key: str) -> Any:
        """Return an attribute as plain data, with texts for bytes; None if there is none, or if it is broken."""
        try:
            if key not in item.attrs:
                return None
            value = item.attrs[key]
        except Exception as error:  # noqa: BLE001  # a broken attribute makes h5py raise anything
            self._report("broken", item.name or "", f"its attribute '{key}' cannot be read ({type(error).__name__})")
            return None
        return _plain(value)

    def _report(self, kind: str, path: str, reason: str) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(H5Problem(kind, path, reason))


def _plain(value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    return [_text(item) for item in plain] if isinstance(plain, list) else _text(plain)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _attribute_text(value: Any) -> str:
    """Describe the value of an attribute; no two values have the same description, because long ones contain a digest."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", type(value).__name__)
    plain = _plain(value)
    # `repr` writes numbers with all the digits that distinguish them.
    text = repr(plain)
    kind = "" if isinstance(plain, str) else f"{dtype}{list(shape) if shape else ''} "
    if len(text) > _LONGEST_TEXT:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        text = f"{text[:40]}... ({len(text):,} characters, SHA-256 {digest})"
    return f"{kind}{text}"


def _spec(dataset: Any, limits: Limits, *, offset: bool = False) -> tuple[ArraySpec, str]:
    """Return the spec of an array, with its `offset` if wanted, and the kind of problem with it; "" if it can be read."""
    try:
        shape = tuple(int(size) for size in dataset.shape or ())
        dtype = dataset.dtype
    except Exception as error:  # noqa: BLE001  # a type that h5py does not know makes it raise anything
        return ArraySpec((), "unknown", f"its type cannot be read ({type(error).__name__})"), "type"
    name = str(dtype)
    if dtype.kind == "V" and dtype.names is None and dtype.subdtype is None:
        written = dataset.attrs.get("dtype")
        name = "bfloat16" if _text(written) == "bfloat16" and dtype.itemsize == 2 else f"raw{8 * dtype.itemsize}"
    kind, reason = _refusal(dataset, math.prod(shape) * dtype.itemsize, limits)
    begins = _offset(dataset, math.prod(shape) * dtype.itemsize) if offset and reason is None else None
    return ArraySpec(shape, name, reason, begins), kind


def _offset(dataset: Any, size: int) -> int | None:
    """Return the offset of the values if they are contiguous in the file and byte for byte as numpy has them."""
    import h5py

    dtype = dataset.dtype
    if dataset.id.get_create_plist().get_layout() != h5py.h5d.CONTIGUOUS or dataset.id.get_storage_size() != size:
        return None
    if dtype.kind != "V" and dataset.id.get_type() != h5py.h5t.py_create(dtype, logical=True):
        return None
    found: int | None = dataset.id.get_offset()
    return found


def _refusal(dataset: Any, size: int, limits: Limits) -> tuple[str, str | None]:
    """Return the kind of problem and the reason if an array must not be read, else "" and None."""
    dtype = dataset.dtype
    if dataset.shape is None:
        return "type", "it has no values"
    if dtype.kind not in _NUMBERS or dtype.names is not None or dtype.subdtype is not None:
        return "type", f"it contains {'objects' if dtype.kind == 'O' else 'no plain numbers'}"
    if dataset.external:
        return "external", f"its values are in another file, {dataset.external[0][0]!a}"
    if dataset.is_virtual:
        return "virtual", "it is assembled from other files"
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    strange = [number for number in filters if number not in _FILTERS]
    if len(set(filters)) < len(filters):
        return "filter", "the same filter is applied to it more than once"
    if strange:
        return "filter", f"it is compressed with filter {strange[0]}, for which HDF5 would search and load a library"
    if size > limits.array_size:
        return "bomb", f"its {size:,} bytes are more than the {limits.array_size:,} allowed"
    stored = dataset.id.get_storage_size()
    # A chunk is unpacked as a whole, however little of it belongs to the array.
    chunk = math.prod(dataset.chunks or ()) * dtype.itemsize
    unpacked = max(size, chunk)
    if (unpacked > _SMALL and unpacked > _EXPANSION * stored) or chunk > max(_SMALL, 4 * size):
        return "bomb", f"{stored:,} bytes would unpack to {unpacked:,}"
    return "", None


def _unreadable(error: Exception, file: IO[bytes]) -> ModelFileError:
    name = getattr(file, "name", None)
    what = f"'{escape(Path(name).name)}'" if isinstance(name, str) else "the weights"
    if "truncated file" not in str(error):
        return ModelFileError(f"Cannot read {what}: the file is broken, or it is not HDF5.", found=_words(error))
    return ModelFileError(
        f"Cannot read {what}: the end of the file is missing.", found=_words(error), fix="copy or download it again."
    )


def _words(error: Exception) -> str:
    return ascii(" ".join(str(error).split())[:200])[1:-1]


def _broken(error: Exception, path: str = "") -> ModelFileError:
    what = f"the array '{escape(path)}'" if path else "the weights"
    return ModelFileError(
        f"Cannot read {what}: the file is broken, or it is not HDF5.", found=_words(error), path=path or None
    )
