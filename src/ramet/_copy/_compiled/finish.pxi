# The parts of the finish step that are done for every op and tracker.


cdef take_known_calls(Walk walk, object name, object old, object new, dict positions):
    """Add the twins of the calls that an op lists under a name to the list of its twin, and note their positions."""
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


cdef write_history(Walk walk, object old, object new, dict positions):
    cdef PyObject* known = PyDict_GetItem(attributes_of(old), names.HISTORY)
    if known is NULL:
        return
    history = <object>known
    if history is not None and history[0] is not None:
        op, position, index = history
        position = position_of_twin(walk, op, position, positions)
        # As classes of named tuples do it themselves.
        history = tuple.__new__(type(history), (twin_of(walk, op), position, index))
    PyDict_SetItem(attributes_of(new), names.HISTORY, history)


cdef object position_of_twin(Walk walk, object op, object position, dict positions):
    """Return the position of the twin of a call among the calls of the twin of its op."""
    call = attributes_of(op)[names.INBOUND][position]
    return positions[id(twin_of(walk, call))]


cdef dict tracked_ids(Walk walk, object listed):
    """Translate the ids that a tracker lists, by store; ids of objects that were not copied are left out."""
    cdef PyObject* twin
    cdef dict ids = {}
    for name, numbers in listed.items():
        found = ids[name] = set()
        for number in list(numbers):
            twin = find_anywhere(walk.memo, address_of(number))
            if twin is not NULL:
                found.add(id(<object>twin))
    return ids
