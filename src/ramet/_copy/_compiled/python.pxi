# The parts of Python's C interface that the walk uses.

from cpython.dict cimport PyDict_Copy, PyDict_GetItem, PyDict_Next, PyDict_SetItem
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_SetItem
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

cdef extern from "Python.h":
    PyTypeObject PyBaseObject_Type
    int PY_VERSION_HEX
    unsigned long Py_TPFLAGS_MANAGED_DICT
    bint PyType_HasFeature(PyTypeObject*, unsigned long)

    PyObject** _PyObject_GetDictPtr(object)
    object PyObject_GenericGetDict(object, void*)
    int PyObject_GenericSetDict(object, object, void*) except -1
    int PyObject_GenericSetAttr(object, object, object) except -1
    Py_ssize_t Py_REFCNT(PyObject*)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    object PyODict_New()

    ctypedef struct PyFunctionObject:
        PyObject* func_code
        PyObject* func_globals
        PyObject* func_name
        PyObject* func_qualname
        PyObject* func_defaults
        PyObject* func_kwdefaults
        PyObject* func_closure
        PyObject* func_doc
        PyObject* func_dict
        PyObject* func_module
        PyObject* func_annotations
    object PyFunction_NewWithQualName(object, object, object)
    int PyFunction_SetClosure(object, object) except -1
    int PyFunction_SetDefaults(object, object) except -1
    object PyCell_New(object)
    PyObject* PyCell_GET(object)
    PyObject* PyMethod_GET_FUNCTION(object)
    PyObject* PyMethod_GET_SELF(object)
    object PyMethod_New(object, object)

ctypedef object (*New)(PyObject*, PyObject*, PyObject*)

cdef object NO_ARGUMENTS = ()
cdef object PARTIAL = functools.partial
cdef object FUNCTION_TYPE = types.FunctionType
cdef object METHOD_TYPE = types.MethodType


cdef inline object bare(PyTypeObject* base, object cls):
    """Return `base.__new__(cls)`."""
    return (<New>base.tp_new)(<PyObject*>cls, <PyObject*>NO_ARGUMENTS, NULL)


cdef inline object attributes_of(object value):
    return PyObject_GenericGetDict(value, NULL)


cdef inline int set_attributes(object value, object attributes) except -1:
    # Since Python 3.13, attributes are stored in the object itself; only the setter of `__dict__` removes them from there.
    if PY_VERSION_HEX >= 0x030D0000 and PyType_HasFeature((<PyObject*>value).ob_type, Py_TPFLAGS_MANAGED_DICT):
        return PyObject_GenericSetAttr(value, "__dict__", attributes)
    return PyObject_GenericSetDict(value, attributes, NULL)
