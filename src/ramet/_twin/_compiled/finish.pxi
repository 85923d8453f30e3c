# Of the finish step: what is done for every op and tracker.


cdef take_known_calls(Walk walk, object name, object old, object new, dict positions):
    """The twins of the calls that an op lists under a name, into the list of its twin; and where each stands."""
    cdef PyObject* listed = PyDict_GetItem(attributes_of(old), name)
    if listed is NULL:
        return
    cdef list known = walk.known(<object>listed)
    if not known:
        return
    if positions is not None:
        for position, call in enumerate(known):
            positions[id(call)] = position
    target = attributes_of(new)[name]
    if type(target) is list:
        (<list>target).extend(known)
    else:
        calls.put(target, known)


cdef object ids_in(object stores):
    """The ids of what stands in each store of a tracker."""
    cdef dict ids = {}
    for name, (_, store) in stores.items():
        ids[name] = {id(item) for item in store} if len(store) else set()
    return ids
