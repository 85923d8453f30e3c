# cython: language_level=3, boundscheck=False, wraparound=False
"""The compiled walk: the same results as the walk in Python, for the most common forms of objects in models.

Nine tenths of the objects of a model have one of a dozen forms: attributes in a bare object, lists, dicts, sets, tuples, the
closures that Keras puts into layers. For these, the walk in Python is mostly interpreter overhead: it takes 105 microseconds
per `Dense` layer (80 objects) on torch. A copy rule names the form of its objects by its class attribute `form`. Objects
without a form, and objects that turn out to be unusual (a dict with uncommon keys, a function with annotations), are passed
to their rule in Python. No foreign code runs here: an object is created bare, and filled later from the worklist.

Cython counts the references of its objects. A `PyObject*` is borrowed, and used before anything else could release it. A test
counts the references to every object of a model before and after a clone, because mistakes would otherwise go unnoticed.
"""

import functools
import itertools
import sys
import types
from collections import OrderedDict, defaultdict

from ramet._copy.atoms import ATOMS, SMALLEST_ID, is_from_library
from ramet._copy.attributes import EmptyContainer, FillLater, Value, has_bare_new, hides_attributes
from ramet._copy.rule import RuleTable
from ramet._keras import calls, names

include "python.pxi"
include "memo.pxi"

cdef enum Form:
    # The order matters: objects of the forms from LIST on are made immediately, without visiting their parts.
    NONE, ATOM, INT, SHARED, TUPLE, FUNCTION,
    LIST, DICT, ORDERED_DICT, DEFAULT_DICT, SET, LIST_SUBCLASS, DICT_SUBCLASS, SET_SUBCLASS, ATTRIBUTES

FORMS = {
    "int": INT,
    "shared": SHARED,
    "tuple": TUPLE,
    "function": FUNCTION,
    "list": LIST,
    "dict": DICT,
    "ordered dict": ORDERED_DICT,
    "default dict": DEFAULT_DICT,
    "set": SET,
    "list subclass": LIST_SUBCLASS,
    "dict subclass": DICT_SUBCLASS,
    "attributes": ATTRIBUTES,
}

PLAIN = {LIST: list, DICT: dict, ORDERED_DICT: OrderedDict, SET: set}
cdef object PLAIN_CLASSES = frozenset(PLAIN.values())

BUILTINS = {
    LIST: list,
    LIST_SUBCLASS: list,
    DICT: dict,
    DICT_SUBCLASS: dict,
    SET: set,
    SET_SUBCLASS: set,
}


cdef class Kind:
    """The facts about a class that the walk needs."""

    cdef Form form
    cdef object cls
    cdef object rule
    cdef object builtin  # list, dict or set, if `builtin.__new__` makes a complete instance
    cdef bint is_plain  # a list, dict, OrderedDict or set, not a subclass of one
    cdef bint is_state
    cdef bint is_assembly
    cdef bint is_batched
    cdef bint has_attributes
    cdef bint wants_after
    cdef list record  # the list that pairs of original and twin are added to, if any
    cdef list slots  # names of attributes outside of `__dict__`
    cdef dict handlers  # handlers of attributes that are not simply copied, if any


cdef enum:
    # Size of the cache in front of `kinds`, a power of two. Two classes in one slot only cost time.
    SLOTS = 1024


cdef struct Known:
    void* cls
    void* kind
    Form form


cdef class Walk:
    """The twins made so far, and the shells that are still to be filled."""

    cdef readonly Memo memo
    cdef readonly object rules
    cdef readonly list todo
    cdef readonly object filled
    cdef readonly object filling
    cdef readonly list kept_alive
    cdef readonly object records
    cdef list stack  # like `todo`, for the forms known here: kind, original and twin, one after the other
    cdef list functions  # an entry of `records`
    cdef list values  # an entry of `records`
    cdef dict kinds
    cdef Known known_classes[SLOTS]

    def __init__(self, rule_for):
        self.memo = Memo()
        self.rules = RuleTable(rule_for)
        self.todo = []
        self.filled = defaultdict(list)
        self.filling = None
        self.kept_alive = []
        self.records = defaultdict(list)
        self.stack = []
        self.functions = self.records["functions"]
        self.values = self.records["values"]
        self.kinds = {}

    def copy(self, old):
        """Return the twin of `old`, always the same one."""
        cdef PyObject* known = find_anywhere(self.memo, <size_t><PyObject*>old)
        return make_twin(self, kind_of(self, <PyObject*>old), old) if known is NULL else <object>known

    def find(self, old, default=None):
        """Return the twin of `old` if it exists already, otherwise the default."""
        cdef PyObject* known = known_twin(self, old)
        return default if known is NULL else <object>known

    def copy_each(self, olds):
        """Return the twins of several objects."""
        return [Walk.copy(self, old) for old in olds]

    def known(self, olds):
        """Return the existing twins of these objects."""
        cdef PyObject* known
        cdef list twins = []
        for old in olds:
            known = known_twin(self, old)
            if known is not NULL:
                twins.append(<object>known)
        return twins

    def place_calls(self):
        """Give each op of the twin its calls, in their order. Return the position of each call by its id."""
        cdef dict positions = {}
        for old, new in self.records["ops"]:
            take_known_calls(self, names.INBOUND, old, new, positions)
            take_known_calls(self, names.OUTBOUND, old, new, None)
        return positions

    def write_histories(self, dict positions):
        """Set the call that each tensor of the twin comes from."""
        for old, new in self.records["tensors"]:
            write_history(self, old, new, positions)

    def name_calls(self, keys, ops, dict positions):
        """Return the keys under which the twin of a functional model keeps its calls."""
        cdef dict by_id = {id(op): op for op in ops}
        cdef set twin_keys = set()
        for key in keys:
            number, position = calls.split_node_key(key)
            op = by_id[number]
            twin_keys.add(calls.node_key(twin_of(self, op), position_of_twin(self, op, position, positions)))
        return twin_keys

    def list_tracked(self):
        """Give each tracker of the twin the ids of the twins of what the original's tracker lists."""
        for old, new in self.records["trackers"]:
            attributes_of(new)[names.STORED_IDS] = tracked_ids(self, attributes_of(old)[names.STORED_IDS])

    def prepare_for_foreign_code(self):
        """Give all twins their slots: foreign code is about to run, and may ask for any object."""
        take_all_in(self.memo)

    def lend_memo(self):
        """Return the memo as a dict, for foreign code."""
        self.prepare_for_foreign_code()
        return self.memo.lend()

    def take_memo_back(self):
        """Take over what foreign code added to the memo."""
        self.memo.take_back()

    def waiting(self):
        """Return the ids of the originals whose twins are not filled yet."""
        return {id(old) for old in self.stack[1::3]} | {id(old) for _, old, _ in self.todo}

    def fill_these(self, ids):
        """Fill the twins of the originals with these ids now."""
        cdef list stack = self.stack[:]
        cdef list todo = self.todo[:]
        cdef Py_ssize_t index
        filling = self.filling
        self.stack[:] = []
        self.todo[:] = [entry for entry in todo if id(entry[1]) not in ids]
        for index in range(1, len(stack), 3):
            if id(stack[index]) not in ids:
                self.stack.extend(stack[index - 1 : index + 2])
        for index in range(1, len(stack), 3):
            if id(stack[index]) in ids:
                self.filling = stack[index]
                fill(self, <Kind>stack[index - 1], stack[index], stack[index + 1])
        for rule, old, new in todo:
            if id(old) in ids:
                self.filling = old
                self.kept_alive.append(old)
                rule.fill(old, new, self)
        self.filling = filling

    def fill_all(self):
        """Fill all waiting shells."""
        cdef list stack = self.stack
        while True:
            if stack:
                new = stack.pop()
                old = stack.pop()
                kind = stack.pop()
                self.filling = old
                fill(self, <Kind>kind, old, new)
            elif self.todo:
                rule, old, new = self.todo.pop()
                self.filling = old
                self.kept_alive.append(old)  # its parts must not look as if they had a single holder
                rule.fill(old, new, self)
            elif self.filled:
                rule, pairs = self.filled.popitem()
                rule.after(pairs, self)
            else:
                return


cdef inline PyObject* twin_in(Memo memo, PyObject* value) noexcept:
    return find(memo, <size_t>value)


cdef inline PyObject* known_twin(Walk walk, object old) except? NULL:
    """Return the twin of an object that Python code asks for, or NULL."""
    cdef PyObject* known = twin_in(walk.memo, <PyObject*>old)
    if known is NULL and type(old) in PLAIN_CLASSES:  # only these are ever set aside
        known = find_anywhere(walk.memo, <size_t><PyObject*>old)
    return known


cdef inline object twin_of(Walk walk, object old):
    """Return what `walk.copy` returns, for an original that the walk reached."""
    cdef PyObject* known = twin_in(walk.memo, <PyObject*>old)
    return make_twin(walk, kind_of(walk, <PyObject*>old), old) if known is NULL else <object>known


cdef inline int remember(Walk walk, object old, object new) except -1:
    return keep(walk.memo, <size_t><PyObject*>old, new)


cdef inline Known* look_up(Walk walk, PyObject* value) except NULL:
    cdef void* cls = <void*>value.ob_type
    cdef Known* known = &walk.known_classes[(<size_t>cls >> 5) & (SLOTS - 1)]
    cdef Kind kind
    if known.cls != cls:
        kind = find_kind(walk, <object>cls)
        known.cls, known.kind, known.form = cls, <void*>kind, kind.form
    return known


cdef inline Kind kind_of(Walk walk, PyObject* value):
    return <Kind>look_up(walk, value).kind


cdef inline Form form_of(Walk walk, PyObject* value) except? NONE:
    return look_up(walk, value).form


cdef Kind find_kind(Walk walk, object cls):
    """Return what is known about a class. The walk keeps it, and so the class, alive."""
    cdef Kind kind = walk.kinds.get(cls)
    if kind is None:
        kind = walk.kinds[cls] = new_kind(walk, cls)
    return kind


cdef Kind new_kind(Walk walk, object cls):
    cdef Kind kind = Kind.__new__(Kind)
    kind.cls = cls
    if cls in ATOMS:
        kind.form = ATOM
        return kind
    rule = kind.rule = walk.rules[cls]
    kind.is_state, kind.is_assembly, kind.is_batched = rule.is_state, rule.is_assembly, rule.is_batched
    kind.has_attributes = (<PyTypeObject*>cls).tp_dictoffset != 0
    # Looked up in the rule's own class only: a rule that inherits from it may do more.
    kind.form = FORMS.get(type(rule).__dict__.get("form"), NONE)
    if kind.form == ATTRIBUTES:
        if not rule.is_bare:
            kind.form = NONE
        kind.slots = rule.slots
        kind.handlers = rule.handlers or None
        kind.record = None if rule.topic is None else walk.records[rule.topic]
        kind.wants_after = rule.wants_after
    if hides_attributes(cls):
        kind.form = NONE
    # The rules of sets serve subclasses, too.
    if kind.form == SET and cls is not set:
        kind.form = SET_SUBCLASS
    kind.is_plain = kind.form in PLAIN and cls is PLAIN[kind.form]
    if kind.form in BUILTINS:
        if has_bare_new(cls, BUILTINS[kind.form]):
            kind.builtin = BUILTINS[kind.form]
        else:
            kind.form = NONE
    if (kind.form == TUPLE and cls is not tuple) or (kind.form == ORDERED_DICT and cls is not OrderedDict):
        kind.form = NONE
    if kind.form == DEFAULT_DICT and cls is not defaultdict:
        kind.form = NONE
    return kind


include "make.pxi"
include "functions.pxi"
include "fill.pxi"
include "finish.pxi"
