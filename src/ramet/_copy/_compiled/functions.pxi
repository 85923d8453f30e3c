# Functions like those Keras puts into layers: closures over a layer and its methods.


cdef object make_function(Walk walk, Kind kind, object old):
    """Return the twin of a function: shared if it holds nothing, copied if it closes over state that has a twin."""
    cdef PyFunctionObject* function = <PyFunctionObject*>old
    if function.func_closure is NULL:
        if not is_empty(function.func_defaults) or not is_empty(function.func_kwdefaults) or not is_empty(function.func_dict):
            return kind.rule.copy(old, walk)
        if not is_from_library(old):
            walk.functions.append(old)  # it may still read globals
        remember(walk, old, old)
        return old
    closure = <object>function.func_closure
    if is_unusual(walk, function, old) or not holds_known_state(walk, closure):
        return kind.rule.copy(old, walk)
    walk.functions.append(old)
    cells = make_closure(walk, closure)
    new = PyFunction_NewWithQualName(
        <object>function.func_code, <object>function.func_globals, <object>function.func_qualname
    )
    remember(walk, old, new)
    PyFunction_SetClosure(new, cells)
    if function.func_defaults is not NULL:
        PyFunction_SetDefaults(new, <object>function.func_defaults)
    cdef PyFunctionObject* twin = <PyFunctionObject*>new
    if twin.func_name is not function.func_name:
        new.__name__ = old.__name__
    if twin.func_module is not function.func_module:
        new.__module__ = old.__module__
    if twin.func_doc is not function.func_doc:
        new.__doc__ = old.__doc__
    if not is_empty(function.func_dict) and not take_known_attributes(walk, <object>function.func_dict, new):
        walk.todo.append((kind.rule, old, new))
    return new


cdef bint is_empty(PyObject* container):
    return container is NULL or container is <PyObject*>None or not <object>container


cdef bint is_unusual(Walk walk, PyFunctionObject* function, object old):
    """Return whether a function has parts that only its rule can copy."""
    if HAS_ANNOTATE or (HAS_TYPE_PARAMETERS and old.__type_params__):
        return True
    if not is_empty(function.func_kwdefaults) or not is_empty(function.func_annotations):
        return True
    return function.func_defaults is not NULL and not are_constant(walk, list(<object>function.func_defaults))


cdef bint holds_known_state(Walk walk, object closure):
    cdef Py_ssize_t index
    cdef PyObject* held
    cdef PyObject* known
    for index in range(PyTuple_GET_SIZE(closure)):
        held = PyCell_GET(<object>PyTuple_GET_ITEM(closure, index))
        if held is not NULL:
            known = twin_in(walk.memo, held)
            if known is not NULL and known is not held and kind_of(walk, held).is_state:
                return True
    return False


cdef object make_closure(Walk walk, object closure):
    cdef PyObject* held
    cdef PyObject* known
    cdef list cells = []
    for cell in closure:
        known = twin_in(walk.memo, <PyObject*>cell)
        if known is not NULL:
            cells.append(<object>known)
            continue
        held = PyCell_GET(cell)
        known = NULL if held is NULL else twin_in(walk.memo, held)
        if known is not NULL:
            twin = PyCell_New(<object>known)
            remember(walk, cell, twin)
        elif held is not NULL and is_quick_method(walk, held):
            twin = PyCell_New(make_method(walk, <object>held))
            remember(walk, cell, twin)
        else:
            twin = kind_of(walk, <PyObject*>cell).rule.copy(cell, walk)
        cells.append(twin)
    return tuple(cells)


cdef bint is_quick_method(Walk walk, PyObject* value):
    """Return whether this is a bound method whose owner is known and whose function has no closure."""
    if type(<object>value) is not METHOD_TYPE or twin_in(walk.memo, PyMethod_GET_SELF(<object>value)) is NULL:
        return False
    cdef PyObject* function = PyMethod_GET_FUNCTION(<object>value)
    return type(<object>function) is FUNCTION_TYPE and (<PyFunctionObject*>function).func_closure is NULL


cdef object make_method(Walk walk, object old):
    owner = <object>twin_in(walk.memo, PyMethod_GET_SELF(old))
    function = <object>PyMethod_GET_FUNCTION(old)
    twin = twin_of(walk, function)
    is_shared = twin is function and owner is <object>PyMethod_GET_SELF(old)
    new = old if is_shared else PyMethod_New(twin, owner)
    remember(walk, old, new)
    walk.kept_alive.append(old)
    return new


cdef bint take_known_attributes(Walk walk, object attributes, object new):
    """Give a function its attributes if all their twins are known. Return whether it was done."""
    cdef Py_ssize_t position = 0
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* known
    target = PyDict_Copy(attributes)
    while PyDict_Next(target, &position, &name, &value):
        if form_of(walk, value) != ATOM:
            known = twin_in(walk.memo, value)
            if known is NULL:
                return False
            PyDict_SetItem(target, <object>name, <object>known)
    set_attributes(new, target)
    return True


cdef bint HAS_TYPE_PARAMETERS = sys.version_info >= (3, 12)
cdef bint HAS_ANNOTATE = sys.version_info >= (3, 14)
