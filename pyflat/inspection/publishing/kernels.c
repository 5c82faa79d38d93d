/* Kernels over arrays, behind extension.c: pyflat_call_kernel runs machine code as a table of run_kernels.py says. */
static _Thread_local PyObject *arrays_made;

/* A new array: where its elements are, NULL where the original has to say why there is none. */
static void *allocate(const Array *sites, int64_t site, int64_t *shape)
{
    Array asked = sites[(site >> 1) + 1];  /* -1: memory that is no array */
    PyGILState_STATE held = PyGILState_Ensure();
    PyObject *array = site > 0 && site & 1 ? PyArray_ZEROS(asked.axes, shape, asked.dtype, 0)
                                           : PyArray_EMPTY(asked.axes, shape, asked.dtype, 0);
    void *elements = array != NULL ? PyArray_DATA((PyArrayObject *)array) : NULL;
    PyObject *pair = array != NULL ? Py_BuildValue("nN", (Py_ssize_t)elements, array) : NULL;
    if (pair == NULL || PyList_Append(arrays_made, pair) < 0)
        elements = NULL;
    Py_XDECREF(pair);
    PyErr_Clear();
    PyGILState_Release(held);
    return elements;
}

/* run(method, arguments, list): a call, whose new arrays go to the list, with their addresses. */
static PyObject *run(PyObject *self, PyObject *given)
{
    PyObject *method = PyTuple_GET_ITEM(given, 0), *before = arrays_made;
    arrays_made = PyTuple_GET_ITEM(given, 2);
    PyObject *found = PyObject_CallObject(method, PyTuple_GET_ITEM(given, 1));
    arrays_made = before;
    return found;
}

static PyMethodDef call_method = {"kernel", (PyCFunction)(void (*)(void))pyflat_call_kernel, METH_FASTCALL, NULL};

/* What runs this version of a kernel, by a table. */
static PyObject *bind(PyObject *self, PyObject *given)
{
    int number, version;
    PyArrayObject *table;
    if (!PyArg_ParseTuple(given, "iiO", &number, &version, &table))
        return NULL;
    ((int64_t *)PyArray_DATA(table))[KERNEL] = (int64_t)kernels[number][version];
    return PyCFunction_New(&call_method, (PyObject *)table);
}

/* Raises what a signal's handler has raised while a kernel ran. */
static PyObject *raise_interrupt(PyObject *self, PyObject *nothing)
{
    for (int64_t *const *state = states; *state != NULL && PyThread_get_thread_ident() == main_thread; state++)
        if (interrupted(*state))
            return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef kernel_methods[] = {
    {"_run", run, METH_VARARGS, NULL}, {"_bind", bind, METH_VARARGS, NULL},
    {"_raise", raise_interrupt, METH_NOARGS, NULL}, {NULL}};
