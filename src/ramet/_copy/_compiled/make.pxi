# Make twins: shared, complete, or a shell that waits to be filled.


cdef object make_twin(Walk walk, Kind kind, object old):
    """Return the twin of an object that has none yet."""
    if kind.form >= LIST:
        return make_shell(walk, kind, old)
    if kind.form == SHARED or kind.form == ATOM:
        return old
    if kind.form == TUPLE:
        return make_tuple(walk, kind, old)
    if kind.form == FUNCTION:
        return make_function(walk, kind, old)
    return kind.rule.copy(old, walk)


cdef object make_shell(Walk walk, Kind kind, object old):
    if kind.form == ATTRIBUTES:
        new = bare(&PyBaseObject_Type, kind.cls)
        remember(walk, old, new)
        if kind.record is not None:
            kind.record.append((old, new))
        wait(walk, kind, old, new)
        return new
    if kind.is_plain:
        new = start_plain(kind, old)
        remember(walk, old, new)
        walk.kept_alive.append(old)  # so that it never looks as if it had a single holder
        take_items(walk, kind, old, new)
        return new
    if kind.form == DEFAULT_DICT:
        new = kind.rule.start(old, walk)
        remember(walk, old, new)
        take_items_of_dict(walk, kind, old, new)
        return new
    return make_subclassed(walk, kind, old)


cdef object make_unlisted(Walk walk, Kind kind, object old):
    """Return the twin of a container with a single holder, which is therefore never looked up again."""
    new = start_plain(kind, old)
    set_aside(walk.memo, <size_t><PyObject*>old, new)
    take_items(walk, kind, old, new)
    return new


cdef object start_plain(Kind kind, object old):
    """Return a list or dict with the items of the original, or an empty set or OrderedDict."""
    if kind.form == LIST:
        return (<list>old)[:]
    if kind.form == DICT:
        return PyDict_Copy(old)
    if kind.form == ORDERED_DICT:
        return PyODict_New()
    return set()


cdef take_items(Walk walk, Kind kind, object old, object new):
    """Complete what `start_plain` made: at once if no item needs a twin, otherwise later."""
    if kind.form == LIST:
        if not are_constant(walk, <list>new):
            wait(walk, kind, old, new)
    elif kind.form == DICT:
        if not have_constant_keys(walk, new):
            new.clear()  # its keys need twins, too
            walk.todo.append((kind.rule, old, new))
        elif not have_constant_values(walk, new):
            wait(walk, kind, old, new)
    elif kind.form == ORDERED_DICT:
        if len(<dict>old) or has_own_attributes(old):
            walk.todo.append((kind.rule, old, new))
    else:
        take_items_of_set(walk, kind, old, new)


cdef object make_subclassed(Walk walk, Kind kind, object old):
    """Return the twin of a container of a subclass: Keras' tracked ones, or a user's."""
    new = bare_container(kind)
    remember(walk, old, new)
    if kind.has_attributes and not take_attributes(walk, old, new):
        walk.todo.append((kind.rule, old, new))
    elif kind.form == LIST_SUBCLASS:
        list.extend(new, (<list>old)[:])
        if not are_constant(walk, <list>new):
            wait(walk, kind, old, new)
    elif kind.form == DICT_SUBCLASS:
        take_items_of_dict(walk, kind, old, new)
    else:
        take_items_of_set(walk, kind, old, new)
    return new


cdef object bare_container(Kind kind):
    return bare(<PyTypeObject*>kind.builtin, kind.cls)


cdef take_items_of_dict(Walk walk, Kind kind, object old, object new):
    if not dict.__len__(old):
        return
    if not have_constant_keys(walk, old):
        walk.todo.append((kind.rule, old, new))
        return
    # Item by item: a copy would call an overridden `__iter__`.
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    while PyDict_Next(old, &position, &name, &value):
        PyDict_SetItem(new, <object>name, <object>value)
    if not have_constant_values(walk, new):
        wait(walk, kind, old, new)


cdef take_items_of_set(Walk walk, Kind kind, object old, object new):
    if not set.__len__(old):
        return
    cdef list items = list(set().union(old))  # bypasses an overridden `__iter__`
    if are_constant(walk, items):
        set.update(new, items)
    else:
        walk.todo.append((kind.rule, old, new))


cdef bint take_attributes(Walk walk, object old, object new):
    """Give a container its attributes if their twins are known or can be made at once. Return whether it was done."""
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* known
    cdef Kind kind
    target = PyDict_Copy(attributes_of(old))
    while PyDict_Next(target, &position, &name, &value):
        if form_of(walk, value) == ATOM:
            continue
        kind = kind_of(walk, value)
        known = twin_in(walk.memo, value)
        if known is not NULL:
            PyDict_SetItem(target, <object>name, <object>known)
        elif kind.form == ATTRIBUTES:
            PyDict_SetItem(target, <object>name, make_shell(walk, kind, <object>value))
        else:
            return False
    set_attributes(new, target)
    return True


cdef object make_tuple(Walk walk, Kind kind, object old):
    """Return the twin of a tuple: the tuple itself if all its items are shared."""
    cdef Py_ssize_t index
    cdef PyObject* item
    cdef PyObject* known
    cdef Kind part
    cdef list twins = None
    for index in range(PyTuple_GET_SIZE(old)):
        item = <PyObject*>PyTuple_GET_ITEM(old, index)
        if is_constant(walk, item):
            continue
        part = kind_of(walk, item)
        known = twin_in(walk.memo, item)
        if known is not NULL:
            twin = <object>known
        elif part.is_assembly or part.form == INT:
            return walk.assemble(old)  # which does not recurse
        else:
            twin = make_twin(walk, part, <object>item)
        if twin is not <object>item:
            if twins is None:
                twins = list(old)
            twins[index] = twin
    new = old if twins is None else tuple(twins)
    remember(walk, old, new)
    walk.kept_alive.append(old)
    return new


cdef inline wait(Walk walk, Kind kind, object old, object new):
    walk.stack.append(kind)
    walk.stack.append(old)
    walk.stack.append(new)


cdef bint is_large(PyObject* number):
    """Return whether an int may be the id of an object."""
    cdef int overflow = 0
    cdef long long value = PyLong_AsLongLongAndOverflow(<object>number, &overflow)
    return overflow > 0 or (overflow == 0 and value >= SMALLEST)


cdef inline bint is_constant(Walk walk, PyObject* value):
    cdef Form form = form_of(walk, value)
    return form == ATOM or (form == INT and not is_large(value))


cdef bint are_constant(Walk walk, list items):
    cdef Py_ssize_t index
    for index in range(PyList_GET_SIZE(items)):
        if not is_constant(walk, <PyObject*>PyList_GET_ITEM(items, index)):
            return False
    return True


cdef bint have_constant_keys(Walk walk, object items):
    cdef Py_ssize_t position = 0
    cdef PyObject* key
    while PyDict_Next(items, &position, &key, NULL):
        held = <object>key
        if not is_constant(walk, <PyObject*>held):
            return False
    return True


cdef bint have_constant_values(Walk walk, object items):
    cdef Py_ssize_t position = 0
    cdef PyObject* value
    while PyDict_Next(items, &position, NULL, &value):
        if not is_constant(walk, value):
            return False
    return True


cdef bint has_own_attributes(object value):
    """Return whether there are attributes, without creating a `__dict__`."""
    cdef PyObject** attributes = _PyObject_GetDictPtr(value)
    return attributes is not NULL and attributes[0] is not NULL and len(<dict>attributes[0]) > 0


cdef long long SMALLEST = SMALLEST_ID
