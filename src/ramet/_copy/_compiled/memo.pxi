# The memo: a hash table from the addresses of originals to their twins.
#
# A dict would need an int object for every address that is looked up, which took a large part of the time. Half of the objects
# of a layer are lists, dicts and sets that a single attribute holds, as their reference count shows. No second
# path leads to them, so they are never looked up and need no slot: they are set aside in a plain list. A second path may still
# appear later: an id, foreign code, a state created by a copy protocol. So the memo takes in everything set aside before
# foreign code runs, and when an unknown id is looked up. Originals with a slot are kept alive (`kept_alive`), so that
# their reference count never suggests a single holder. `tests/copy/test_second_paths.py` covers these paths.

cdef struct Slot:
    size_t key  # the id of an original; 0 if the slot is free
    PyObject* twin  # kept alive by `twins`


cdef class Memo:
    """A mapping of ids to twins. Nothing is ever removed, so a free slot ends every search."""

    cdef Slot* slots
    cdef size_t size  # of `slots`, a power of two
    cdef size_t used
    cdef list twins  # everything that ever was in a slot
    cdef size_t* keys  # in order of insertion; with room for half as many as there are slots
    cdef size_t* keys_aside
    cdef size_t room_aside  # the capacity of `keys_aside`
    cdef list twins_aside
    cdef dict lent  # the same as a dict, for foreign code, which may add anything
    cdef size_t known_to_lent  # the number of keys it has
    cdef Py_ssize_t size_of_lent  # its size when it was lent

    def __cinit__(self):
        self.twins, self.lent, self.known_to_lent, self.size_of_lent = [], {}, 0, 0
        self.twins_aside, self.room_aside = [], 256
        self.used, self.size = 0, 256
        self.slots = <Slot*>PyMem_Calloc(self.size, sizeof(Slot))
        self.keys = <size_t*>PyMem_Calloc(self.size // 2 + 1, sizeof(size_t))
        self.keys_aside = <size_t*>PyMem_Calloc(self.room_aside, sizeof(size_t))
        if self.slots is NULL or self.keys is NULL or self.keys_aside is NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.slots)
        PyMem_Free(self.keys)
        PyMem_Free(self.keys_aside)

    def __len__(self):
        return self.used + len(self.twins_aside)

    def __contains__(self, number):
        return find_anywhere(self, address_of(number)) is not NULL

    def __getitem__(self, number):
        cdef PyObject* twin = find_anywhere(self, address_of(number))
        if twin is NULL:
            raise KeyError(number)
        return <object>twin

    def __setitem__(self, number, twin):
        cdef size_t key = address_of(number)
        if key == 0:
            raise KeyError(number)
        keep(self, key, twin)

    def get(self, number, default=None):
        """Return the twin of the object with this id, or the default."""
        cdef PyObject* twin = find_anywhere(self, address_of(number))
        return default if twin is NULL else <object>twin

    def update(self, others):
        """Add the items of a dict."""
        for number, twin in others.items():
            self[number] = twin

    def items(self):
        """Return the pairs of id and twin."""
        cdef size_t index
        take_all_in(self)
        return [(self.keys[index], <object>find(self, self.keys[index])) for index in range(self.used)]

    def lend(self):
        """Return the memo as a dict, which a `__deepcopy__` may insist on."""
        cdef size_t index
        for index in range(self.known_to_lent, self.used):
            self.lent[self.keys[index]] = <object>find(self, self.keys[index])
        self.known_to_lent, self.size_of_lent = self.used, len(self.lent)
        return self.lent

    def take_back(self):
        """Take over the twins that foreign code added to the dict since it was lent."""
        count = len(self.lent) - self.size_of_lent
        for number, twin in list(itertools.islice(reversed(self.lent.items()), count)):
            # `copy.deepcopy` keeps a list under the id of the dict itself; others add keys that are not ids.
            if type(number) is int and number != id(self.lent) and address_of(number) != 0:
                self[number] = twin


cdef size_t address_of(object number) except? 0:
    """Return an int as an address, or 0 if it cannot be one."""
    cdef int overflow = 0
    cdef long long value = PyLong_AsLongLongAndOverflow(number, &overflow)
    return 0 if overflow or value < 0 else <size_t>value


cdef inline size_t first_slot(Memo memo, size_t key) noexcept:
    # Addresses are multiples of 16; the multiplication spreads neighbors over all slots.
    return ((key >> 4) * <size_t>0x9E3779B97F4A7C15 >> 20) & (memo.size - 1)


cdef inline PyObject* find(Memo memo, size_t key) noexcept:
    cdef size_t slot
    if key == 0:
        return NULL
    slot = first_slot(memo, key)
    while memo.slots[slot].key != 0:
        if memo.slots[slot].key == key:
            return memo.slots[slot].twin
        slot = (slot + 1) & (memo.size - 1)
    return NULL


cdef PyObject* find_anywhere(Memo memo, size_t key) except? NULL:
    """Find a twin in the slots and among those set aside."""
    cdef PyObject* twin = find(memo, key)
    if twin is NULL and len(memo.twins_aside):
        take_all_in(memo)
        twin = find(memo, key)
    return twin


cdef int set_aside(Memo memo, size_t key, object twin) except -1:
    """Note the twin of an object with a single holder, without a slot."""
    cdef size_t used = len(memo.twins_aside)
    cdef size_t* keys
    if used == memo.room_aside:
        keys = <size_t*>PyMem_Realloc(memo.keys_aside, memo.room_aside * 2 * sizeof(size_t))
        if keys is NULL:
            raise MemoryError
        memo.keys_aside, memo.room_aside = keys, memo.room_aside * 2
    memo.keys_aside[used] = key
    memo.twins_aside.append(twin)
    return 0


cdef take_all_in(Memo memo):
    """Give everything that was set aside a slot."""
    cdef size_t index
    cdef list twins = memo.twins_aside
    memo.twins_aside = []
    for index in range(len(twins)):
        keep(memo, memo.keys_aside[index], twins[index])


cdef int keep(Memo memo, size_t key, object twin) except -1:
    cdef size_t slot = first_slot(memo, key)
    while memo.slots[slot].key != 0 and memo.slots[slot].key != key:
        slot = (slot + 1) & (memo.size - 1)
    memo.twins.append(twin)
    if memo.slots[slot].key == key:
        if memo.lent:
            memo.lent[key] = twin
        memo.slots[slot].twin = <PyObject*>twin
        return 0
    memo.slots[slot].key, memo.slots[slot].twin = key, <PyObject*>twin
    memo.keys[memo.used] = key
    memo.used += 1
    if memo.used * 2 > memo.size:
        grow(memo)
    return 0


cdef int grow(Memo memo) except -1:
    cdef size_t size = memo.size * 2
    cdef Slot* slots = <Slot*>PyMem_Calloc(size, sizeof(Slot))
    cdef size_t* keys = <size_t*>PyMem_Realloc(memo.keys, (size // 2 + 1) * sizeof(size_t))
    cdef Slot* before = memo.slots
    cdef size_t index, slot, before_size = memo.size
    if keys is not NULL:
        memo.keys = keys
    if slots is NULL or keys is NULL:
        PyMem_Free(slots)
        raise MemoryError
    memo.slots, memo.size = slots, size
    for index in range(before_size):
        if before[index].key != 0:
            slot = first_slot(memo, before[index].key)
            while slots[slot].key != 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = before[index]
    PyMem_Free(before)
    return 0
