"""HDF5 through h5py: a listing that follows no link, and one array at a time. Runs in a process of its own."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection
from typing import IO, Any

from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Group, H5Problem, Listing
from ramet._files.problem import HostileFileError, ModelFileError, OutOfBudgetError
from ramet._graph import escape

__all__ = ["H5File"]

# Deflate, shuffle, checksum: what HDF5 itself can undo. Others are libraries that it would look for and load.
_FILTERS = {1, 2, 3}
_NUMBERS = "biufcV"
_SMALL = 16 * 2**20
_EXPANSION = 100
_TEXTS = ("model_config", "training_config", "keras_version", "backend")
_ORDERS = ("layer_names", "weight_names")
# Attributes of one object that are described, and the most of their text that is kept as it is.
_MOST_ATTRIBUTES = 10_000
_SHOWN = 200


class H5File:
    """An HDF5 file that nobody vouches for."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        import h5py

        self._h5py = h5py
        self._limits = limits
        try:
            self._root = h5py.File(file, "r")
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            raise _broken(error) from None

    def close(self) -> None:
        """Close the file."""
        self._root.close()

    def listing(self) -> Listing:
        """All groups and arrays that the file itself holds."""
        try:
            return _Walk(self._h5py, self._root, self._limits).done
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            raise _broken(error) from None

    def read(self, path: str) -> tuple[ArraySpec, Any]:
        """An array, by its path in the file."""
        try:
            dataset = self._reach(path)
            spec, _ = _spec(dataset, self._limits)
            if spec.refused:
                raise HostileFileError(f"Cannot read the array '{escape(path)}': {spec.refused}.", path=path)
            return spec, dataset[()]
        except (ModelFileError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # a broken file makes h5py raise anything
            raise _broken(error, path) from None

    def _reach(self, path: str) -> Any:
        item = self._root
        for part in path.split("/"):
            link = item.get(part, getlink=True) if isinstance(item, self._h5py.Group) else None
            if not isinstance(link, self._h5py.HardLink):
                raise ModelFileError(f"Cannot find the array '{escape(path)}' in the weights file.", path=path)
            item = item[part]
        if not isinstance(item, self._h5py.Dataset):
            raise ModelFileError(f"Cannot find the array '{escape(path)}' in the weights file.", path=path)
        return item


class _Walk:
    """One pass over a file, without recursion and without following links."""

    def __init__(self, h5py: Any, root: Any, limits: Limits) -> None:
        self._h5py = h5py
        self._limits = limits
        self._groups: dict[str, Group] = {}
        self._arrays: dict[str, ArraySpec] = {}
        self._problems: list[H5Problem] = []
        self._attributes: dict[str, dict[str, str]] = {}
        # Arrays behind a user block begin elsewhere than HDF5 says.
        self._direct = root.file.userblock_size == 0
        self._seen: set[tuple[int, int]] = set()
        self._names = 0
        texts = self._texts(root)
        waiting = [("", root)]
        while waiting:
            path, group = waiting.pop()
            inside = self._enter(path, group)
            if self._names > limits.names:
                raise OutOfBudgetError(
                    f"Cannot read the weights: the paths of all arrays make more than {limits.names:,} characters."
                )
            if path.count("/") + 2 > limits.group_depth and inside:
                self._report("depth", path, f"groups are nested more than {limits.group_depth} levels deep")
                continue
            waiting.extend(reversed(inside))
            if len(self._groups) + len(self._arrays) > limits.objects:
                self._report("crowd", path, f"the file holds more than {limits.objects:,} groups and arrays")
                break
        self.done = Listing(self._groups, self._arrays, texts, tuple(self._problems), self._attributes)

    def _enter(self, path: str, group: Any) -> list[tuple[str, Any]]:
        """Note a group and its arrays, and answer with the groups inside."""
        inside: list[tuple[str, Any]] = []
        arrays: list[str] = []
        for name in group:
            if len(self._arrays) + len(arrays) > self._limits.objects:
                break
            place = f"{path}/{name}" if path else name
            self._names += len(place)
            item = self._item(group, name, place)
            if isinstance(item, self._h5py.Group):
                inside.append((place, item))
            elif isinstance(item, self._h5py.Dataset):
                arrays.append(name)
                self._describe(place, item)
                self._arrays[place], kind = _spec(item, self._limits, offset=self._direct)
                if kind:
                    self._report(kind, place, self._arrays[place].refused or "")
            elif item is not None:
                self._report("type", place, f"it is a {type(item).__name__.lower()}, neither a group nor an array")
        names = tuple(place.rpartition("/")[2] for place, _ in inside)
        beside = self._describe(path, group)
        own = self._name(group) if "name" in beside else None
        self._groups[path] = Group(names, tuple(arrays), own, self._orders(group, beside) if beside else {})
        return inside

    def _item(self, group: Any, name: str, place: str) -> Any:
        """What a name stands for; None for a link, or for what stands elsewhere too."""
        link = group.get(name, getlink=True)
        if isinstance(link, self._h5py.ExternalLink):
            self._report("external", place, f"it is a link into another file, {link.filename!a}")
            return None
        if not isinstance(link, self._h5py.HardLink):
            self._report("soft link", place, f"it is a link to {getattr(link, 'path', '?')!a}")
            return None
        try:
            item = group[name]
            info = self._h5py.h5o.get_info(item.id)
        except Exception as error:  # noqa: BLE001  # a broken object makes h5py raise anything
            self._report("broken", place, f"it cannot be opened ({' '.join(str(error).split())[:100]})")
            return None
        if (info.fileno, info.addr) in self._seen:
            self._report("cycle", place, "the same object stands at another place, too")
            return None
        self._seen.add((info.fileno, info.addr))
        return item

    def _describe(self, path: str, item: Any) -> Collection[str]:
        """Note the attributes of a group or an array, but for the texts beside the root; answers with the names of all."""
        count = self._h5py.h5a.get_num_attrs(item.id)
        if not count:
            return ()
        if count > _MOST_ATTRIBUTES:
            self._report("crowd", path, f"it has {count:,} attributes, and {_MOST_ATTRIBUTES:,} are described")
        found: dict[str, str] = {}
        names = list(itertools.islice(item.attrs, _MOST_ATTRIBUTES))
        attributes = item.attrs
        for name in names:
            if path or name not in _TEXTS:
                try:
                    found[name] = _in_words(attributes[name])
                except Exception as error:  # noqa: BLE001  # a broken attribute makes h5py raise anything
                    found[name] = f"unreadable ({type(error).__name__})"
        if found:
            self._attributes[path] = found
        return names

    def _name(self, group: Any) -> str | None:
        found = self._attribute(group, "name")
        return found if isinstance(found, str) else None

    def _orders(self, group: Any, beside: Collection[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for key in _ORDERS:
            # Keras 2 splits lists that are too long for one attribute: layer_names0, layer_names1, ...
            numbered = (f"{key}{number}" for number in itertools.count())
            keys = [key] if key in beside else itertools.takewhile(beside.__contains__, numbered)
            parts = [self._strings(group, part) for part in keys]
            if parts:
                found[key] = tuple(itertools.chain.from_iterable(part or () for part in parts))
        return found

    def _texts(self, root: Any) -> dict[str, str]:
        found = {key: self._attribute(root, key) for key in _TEXTS}
        return {key: text for key, text in found.items() if isinstance(text, str)}

    def _strings(self, group: Any, key: str) -> tuple[str, ...] | None:
        found = self._attribute(group, key)
        return tuple(map(str, found)) if isinstance(found, list) else None

    def _attribute(self, item: Any, key: str) -> Any:
        """An attribute as text, or a list of texts; None for anything else."""
        try:
            if key not in item.attrs:
                return None
            value = item.attrs[key]
        except Exception as error:  # noqa: BLE001  # a broken attribute makes h5py raise anything
            self._report("broken", item.name or "", f"its attribute '{key}' cannot be read ({type(error).__name__})")
            return None
        return _text(value) if not hasattr(value, "tolist") else _plain(value)

    def _report(self, kind: str, path: str, reason: str) -> None:
        if len(self._problems) < 1_000:
            self._problems.append(H5Problem(kind, path, reason))


def _plain(value: Any) -> Any:
    plain = value.tolist()
    return [_text(item) for item in plain] if isinstance(plain, list) else _text(plain)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _in_words(value: Any) -> str:
    """The value of an attribute as text that no other value has: long ones by their digest."""
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", type(value).__name__)
    plain = value.tolist() if hasattr(value, "tolist") else value
    text = repr(_text(plain)) if not isinstance(plain, list) else repr([_text(item) for item in plain])
    # A list of numbers is written out by `repr` with every digit that tells it from others.
    kind = "" if isinstance(plain, str | bytes) else f"{dtype}{list(shape) if shape else ''} "
    if len(text) > _SHOWN:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        text = f"{text[:40]}... ({len(text):,} characters, SHA-256 {digest})"
    return f"{kind}{text}"


def _spec(dataset: Any, limits: Limits, *, offset: bool = False) -> tuple[ArraySpec, str]:
    """What an array is, and the kind of problem with it; an empty one for an array that can be read.

    Args:
        dataset: the array.
        limits: how large it may be.
        offset: whether to say where its numbers lie.
    """
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
    """Where the numbers begin, if they lie in the file in one piece and byte for byte as numpy has them."""
    import h5py

    dtype = dataset.dtype
    if dataset.id.get_create_plist().get_layout() != h5py.h5d.CONTIGUOUS or dataset.id.get_storage_size() != size:
        return None
    if dtype.kind != "V" and dataset.id.get_type() != h5py.h5t.py_create(dtype, logical=True):
        return None
    found: int | None = dataset.id.get_offset()
    return found


def _refusal(dataset: Any, size: int, limits: Limits) -> tuple[str, str | None]:
    """Why an array is not read: the kind of problem, and a reason."""
    dtype = dataset.dtype
    if dataset.shape is None:
        return "type", "it has no numbers at all"
    if dtype.kind not in _NUMBERS or dtype.names is not None or dtype.subdtype is not None:
        return "type", f"it holds {'objects' if dtype.kind == 'O' else 'no plain numbers'}"
    if dataset.external:
        return "external", f"its numbers lie in another file, {dataset.external[0][0]!a}"
    if dataset.is_virtual:
        return "virtual", "it is put together from other files"
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    strange = [number for number in filters if number not in _FILTERS]
    if len(set(filters)) < len(filters):
        return "filter", "it is packed more than once"
    if strange:
        return "filter", f"it is packed with filter {strange[0]}, a library that HDF5 would look for and load"
    if size > limits.array_size:
        return "bomb", f"its {size:,} bytes are more than the {limits.array_size:,} allowed"
    stored = dataset.id.get_storage_size()
    # A chunk is unpacked as a whole, however little of it belongs to the array.
    chunk = math.prod(dataset.chunks or ()) * dtype.itemsize
    unpacked = max(size, chunk)
    if (unpacked > _SMALL and unpacked > _EXPANSION * stored) or chunk > max(_SMALL, 4 * size):
        return "bomb", f"{stored:,} bytes would unpack to {unpacked:,}"
    return "", None


def _broken(error: Exception, path: str = "") -> ModelFileError:
    words = ascii(" ".join(str(error).split())[:200])[1:-1]
    what = f"the array '{escape(path)}'" if path else "the weights"
    return ModelFileError(f"Cannot read {what}: the file is broken, or no HDF5.", found=words, path=path or None)
