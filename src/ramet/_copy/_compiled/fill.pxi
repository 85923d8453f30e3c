# Fill shells: replace the parts of the original by their twins.


cdef fill(Walk walk, Kind kind, object old, object new):
    if kind.form == ATTRIBUTES:
        fill_attributes(walk, kind, old, new)
    elif kind.form == LIST or kind.form == LIST_SUBCLASS:
        replace_items(walk, <list>new)
    else:
        replace_values(walk, kind, new)


cdef fill_attributes(Walk walk, Kind kind, object old, object new):
    cdef PyObject* value
    for slot in kind.slots:
        fill_slot(walk, slot, old, new)
    if kind.has_attributes:
        target = PyDict_Copy(attributes_of(old))
        set_attributes(new, target)
        replace_values(walk, kind, target)
    if kind.handlers is not None:
        for name, handler in kind.handlers.items():
            value = PyDict_GetItem(target, name)
            if value is NULL:
                continue
            if type(handler) is LATER:
                PyDict_SetItem(target, name, None)
            elif type(handler) is EMPTIED:
                PyDict_SetItem(target, name, make_empty(walk, handler, <object>value))
            elif type(handler) is VALUE and (value is <PyObject*>None or kind_of(walk, value).is_batched):
                walk.values.append((old, target))
                PyDict_SetItem(target, name, None)
            elif type(handler) is VALUE:
                PyDict_SetItem(target, name, twin_of(walk, <object>value))
            else:
                handler(old, target, name, <object>value, walk)
    if kind.wants_after:
        walk.filled[kind.rule].append((old, new))


cdef fill_slot(Walk walk, object name, object old, object new):
    try:
        value = getattr(old, name)
    except AttributeError:  # a slot that was never set
        return
    PyObject_GenericSetAttr(new, name, Walk.copy(walk, value))
    if form_of(walk, <PyObject*>value) == INT:
        walk.replace_id_later(PARTIAL(object.__setattr__, new, name), value)


cdef replace_values(Walk walk, Kind kind, object target):
    """Replace the values of a dict by their twins, except those that have a handler."""
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* known
    cdef Kind part
    cdef list later = None  # keys whose values may run Python code, which must not happen while iterating over the dict
    while PyDict_Next(target, &position, &name, &value):
        if is_constant(walk, value):
            continue
        part = kind_of(walk, value)
        if kind.handlers is not None and PyDict_GetItem(kind.handlers, <object>name) is not NULL:
            continue
        if has_single_holder(part, value):
            PyDict_SetItem(target, <object>name, make_unlisted(walk, part, <object>value))
            continue
        known = twin_in(walk.memo, value) if part.form != INT else NULL
        if known is not NULL:
            PyDict_SetItem(target, <object>name, <object>known)
        elif part.form >= LIST and part.form != DEFAULT_DICT:
            PyDict_SetItem(target, <object>name, make_shell(walk, part, <object>value))
        elif part.form != SHARED:
            if later is None:
                later = []
            later.append(<object>name)
    if later is None:
        return
    for given in later:
        value = PyDict_GetItem(target, given)
        if value is NULL:  # foreign code removed it
            continue
        old = <object>value
        part = kind_of(walk, <PyObject*>old)
        if part.form == INT:
            if kind.form == ATTRIBUTES or given != FOREIGN_ID:
                walk.replace_id_later(PARTIAL(dict.__setitem__, target, given), old)
            continue
        known = twin_in(walk.memo, <PyObject*>old)
        twin = make_twin(walk, part, old) if known is NULL else <object>known
        PyDict_SetItem(target, given, twin)


cdef inline bint has_single_holder(Kind kind, PyObject* value):
    """Return whether only the dict it was found in, and the copy of that dict, hold a container."""
    return kind.is_plain and Py_REFCNT(value) == 2


cdef replace_items(Walk walk, list target):
    """Replace the items of a list by their twins."""
    cdef Py_ssize_t index = 0
    cdef PyObject* known
    cdef Kind part
    while index < PyList_GET_SIZE(target):
        item = <object>PyList_GET_ITEM(target, index)
        part = kind_of(walk, <PyObject*>item)
        if part.form == INT:
            if is_large(<PyObject*>item):
                walk.replace_id_later(PARTIAL(list.__setitem__, target, index), item)
        elif part.form != ATOM:
            known = twin_in(walk.memo, <PyObject*>item)
            twin = make_twin(walk, part, item) if known is NULL else <object>known
            Py_INCREF(twin)  # the list takes over this reference
            PyList_SetItem(target, index, twin)
        index += 1


cdef object make_empty(Walk walk, object handler, object old):
    """Do what the handler does, an `EmptyContainer`."""
    cdef PyObject* known = twin_in(walk.memo, <PyObject*>old)
    if known is not NULL:
        return <object>known
    cdef Kind kind = kind_of(walk, <PyObject*>old)
    if kind.builtin is None or not issubclass(kind.cls, handler.base):
        return handler.twin(old, walk)
    new = bare_container(kind)
    remember(walk, old, new)
    if kind.has_attributes and (holds_any(old, handler.kept_empty) or not take_attributes(walk, old, new)):
        kept_empty = handler.kept_empty
        target = PyDict_Copy(attributes_of(old))
        set_attributes(new, target)
        for name, value in list(target.items()):
            target[name] = [] if name in kept_empty else twin_of(walk, value)
    return new


cdef bint holds_any(object value, tuple wanted):
    attributes = attributes_of(value)
    for name in wanted:
        if PyDict_GetItem(attributes, name) is not NULL:
            return True
    return False


cdef object FOREIGN_ID = names.FOREIGN_ID
cdef object LATER = FillLater
cdef object EMPTIED = EmptyContainer
cdef object VALUE = Value
