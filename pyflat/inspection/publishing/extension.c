/* An extension module of NumPy ufuncs: what all that `pyflat build` makes have in common. Before it stand the tables of
   one library: LOOPS, loops, numpy_loops, library_tables, python_functions, MODULE and TEXT (see build.py).

   Machine code runs a loop's lanes; where it says that a lane is in doubt (it may raise, or a number does not fit), the
   loop goes on in `pyflat_settle`, which runs the machine code on ever shorter pieces, and the library's own Python
   function where one lane is in doubt. */

enum { BLOCK = 128, MOST = 32 };
static unsigned long main_thread;

/* The exception that is set, as a new reference. */
static PyObject *raised(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

void pyflat_kernel(char **data, npy_intp *dims, npy_intp *steps, int64_t *words)
{
    ((Loop *)words)->kernel(data, dims, steps, words);
}

/* What machine code fetched of a signal's handler is set again. */
static int interrupted(int64_t *words)
{
    if (words[INTERRUPTED] == 0)
        return 0;
    PyErr_Restore((PyObject *)words[FETCHED], (PyObject *)words[FETCHED + 1], (PyObject *)words[FETCHED + 2]);
    memset(words + INTERRUPTED, 0, 8 * (FETCHED + 3 - INTERRUPTED));
    return 1;
}

/* The library's own function in one lane. */
static int run_original(Loop *loop, char **at)
{
    PyObject *given[MOST] = {NULL};
    int count = 0, good = 1;
    for (; count < loop->inputs; count++) {
        switch (loop->kinds[count]) {
        case 'd': given[count] = PyFloat_FromDouble(*(double *)at[count]); break;
        case 'l': given[count] = PyLong_FromLongLong(*(int64_t *)at[count]); break;
        default: given[count] = PyBool_FromLong(*at[count]);
        }
        if (given[count] == NULL)
            break;
    }
    PyObject *numbers = count < loop->inputs ? NULL : PyObject_Vectorcall(loop->lane, given, count, NULL);
    while (count-- > 0)
        Py_DECREF(given[count]);
    if (numbers == NULL)
        return -1;
    for (int k = 0; k < loop->outputs; k++) {
        PyObject *number = PyTuple_GET_ITEM(numbers, k);
        char *place = at[loop->inputs + k];
        switch (loop->kinds[loop->inputs + k]) {
        case 'd': *(double *)place = PyFloat_AsDouble(number); break;
        case 'l': *(int64_t *)place = PyLong_AsLongLong(number); break;
        default: *place = number == Py_True;
        }
        good = good && !PyErr_Occurred();
    }
    Py_DECREF(numbers);
    return good ? 0 : -1;
}

/* `n` lanes, with results one behind the other. `own` is a state of this call alone. */
static int settle(Loop *loop, int64_t *own, char **at, npy_intp *steps, npy_intp n)
{
    npy_intp dims[1] = {n};
    own[SUSPECTS] = 0;
    loop->kernel(at, dims, steps, own);
    if (interrupted(own))
        return -1;
    if (own[SUSPECTS] == 0)
        return 0;
    if (n == 1)
        return run_original(loop, at);
    char *behind[MOST];
    for (int k = 0; k < loop->inputs + loop->outputs; k++)
        behind[k] = at[k] + n / 2 * steps[k];
    return settle(loop, own, at, steps, n / 2) < 0 ? -1 : settle(loop, own, behind, steps, n - n / 2);
}

/* All lanes of a call, some of which are in doubt: 0, or a new reference to the exception. */
size_t pyflat_settle(char **data, npy_intp *dims, npy_intp *steps, Loop *loop)
{
    int64_t own[WORDS];
    npy_intp own_steps[MOST];
    char *at[MOST], *rooms = NULL;
    int all = loop->inputs + loop->outputs;
    PyGILState_STATE held = PyGILState_Ensure();
    int bad = PyThread_get_thread_ident() == main_thread && interrupted(loop->words);
    memcpy(own, loop->words, sizeof own);
    memset(own, 0, 8 * FEED);
    rooms = PyMem_Malloc(loop->outputs * BLOCK * 8);
    if (rooms == NULL && !bad) {
        PyErr_NoMemory();
        bad = 1;
    }
    for (int k = 0; k < all; k++)
        own_steps[k] = k < loop->inputs ? steps[k] : loop->kinds[k] == '?' ? 1 : 8;
    for (npy_intp start = 0; start < dims[0] && !bad; start += BLOCK) {
        npy_intp n = dims[0] - start < BLOCK ? dims[0] - start : BLOCK;
        for (int k = 0; k < all; k++)
            at[k] = k < loop->inputs ? data[k] + start * steps[k] : rooms + (k - loop->inputs) * BLOCK * 8;
        bad = settle(loop, own, at, own_steps, n) < 0 || PyErr_CheckSignals() < 0;
        for (int k = loop->inputs; k < all && !bad; k++)
            for (npy_intp lane = 0; lane < n; lane++)
                memcpy(data[k] + (start + lane) * steps[k], at[k] + lane * own_steps[k], own_steps[k]);
    }
    PyMem_Free(rooms);
    PyObject *error = bad ? raised() : NULL;
    PyGILState_Release(held);
    return (size_t)error;
}

/* A loop of which the library's variables say which version holds: they are compared at each call. */
static inline int of_now(PyArrayMethod_Context *context, char *const *data, const npy_intp *dims, const npy_intp *steps,
                  NpyAuxData *auxiliary, Loop *loop)
{
    Loop *found = NULL;
    PyGILState_STATE held = PyGILState_Ensure();
    for (Loop *each = loop; each != NULL && found == NULL && !PyErr_Occurred(); each = each->next) {
        int holds = 1;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(each->reads) && holds; k++) {
            PyObject *read = PyTuple_GET_ITEM(each->reads, k), *value = PyTuple_GET_ITEM(read, 2);
            PyObject *now = PyDict_GetItemWithError(PyTuple_GET_ITEM(read, 0), PyTuple_GET_ITEM(read, 1));
            holds = now == value || (now != NULL && Py_TYPE(now) == Py_TYPE(value)
                                     && PyObject_RichCompareBool(now, value, Py_EQ) == 1);
        }
        found = holds ? each : NULL;
    }
    int failed = PyErr_Occurred() != NULL;
    if (found == NULL && !failed) {  /* the original in each lane */
        npy_intp n = dims[0];
        char *at[MOST];
        failed = PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%s runs its Python function in each lane: it was built "
                                  "for other values of what it reads", loop->name) < 0;
        for (npy_intp lane = 0; lane < n && !failed; lane++) {
            for (int k = 0; k < loop->inputs + loop->outputs; k++)
                at[k] = data[k] + lane * steps[k];
            failed = run_original(loop, at) < 0 || PyErr_CheckSignals() < 0;
        }
    }
    PyGILState_Release(held);
    return failed ? -1 : found == NULL ? 0 : found->strided(context, data, dims, steps, auxiliary);
}

/* What CPython computes by code of its own. */
double pyflat_of_python(PyObject *function, double x, double y, int operands, int64_t digits)
{
    PyGILState_STATE held = PyGILState_Ensure();
    PyObject *found = operands == 1 ? PyObject_CallFunction(function, "d", x)
                      : operands == 2 ? PyObject_CallFunction(function, "dd", x, y)
                      : PyObject_CallFunction(function, "dL", x, (long long)digits);
    double number = found == NULL ? Py_NAN : PyFloat_AsDouble(found);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(function);
    Py_XDECREF(found);
    PyGILState_Release(held);
    return number;
}

static int add_ufunc(PyObject *module, Loop *first)
{
    int count = first->inputs + first->outputs, kinds = 0, failed = 0;
    PyObject *made = PyUFunc_FromFuncAndData(NULL, NULL, NULL, 0, first->inputs, first->outputs, PyUFunc_None,
                                             first->name, first->doc, 0);
    if (made == NULL)
        return -1;
    char *types = malloc(count * LOOPS);  /* as long as the process */
    for (int n = 0; n < LOOPS && !failed; n++) {
        Loop *loop = loops[n];
        if (loop->strided_of_now == NULL || strcmp(loop->name, first->name) != 0)
            continue;
        PyArray_DTypeMeta *dtypes[MOST];
        for (int k = 0; k < count; k++) {
            int number = loop->kinds[k] == 'd' ? NPY_DOUBLE : loop->kinds[k] == 'l' ? NPY_INT64 : NPY_BOOL;
            PyArray_Descr *descr = PyArray_DescrFromType(number);
            dtypes[k] = (PyArray_DTypeMeta *)Py_TYPE(descr);
            types[kinds * count + k] = number;
            Py_DECREF(descr);
        }
        PyType_Slot slots[] = {{NPY_METH_strided_loop, loop->strided_of_now}, {0, NULL}};
        PyArrayMethod_Spec spec = {.name = "twin", .nin = loop->inputs, .nout = loop->outputs,
                                   .casting = NPY_NO_CASTING, .flags = NPY_METH_NO_FLOATINGPOINT_ERRORS,
                                   .dtypes = dtypes, .slots = slots};
        failed = PyUFunc_AddLoopFromSpec(made, &spec) < 0;
        kinds++;
    }
    ((PyUFuncObject *)made)->types = types;  /* what may be cast to one of these safely is */
    ((PyUFuncObject *)made)->ntypes = kinds;
    failed = failed || PyModule_AddObjectRef(module, first->name, made) < 0;
    Py_DECREF(made);
    return failed ? -1 : 0;
}

/* Where the loops of NumPy's own functions are. */
static int find_numpy_loops(void)
{
    for (NumpyLoop *each = numpy_loops; each->name != NULL; each++) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        PyUFuncObject *ufunc = numpy ? (PyUFuncObject *)PyObject_GetAttrString(numpy, each->name) : NULL;
        Py_XDECREF(numpy);
        if (ufunc == NULL)
            return -1;
        for (int k = 0; k < ufunc->ntypes && *each->place == NULL; k++)
            if (memcmp(ufunc->types + k * ufunc->nargs, each->types, ufunc->nargs) == 0) {
                *each->place = (void *)ufunc->functions[k];
                *each->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[k];
            }
        Py_DECREF(ufunc);
        if (*each->place == NULL) {
            PyErr_Format(PyExc_ImportError, MODULE " needs a loop of numpy.%s that this NumPy does not have", each->name);
            return -1;
        }
    }
    return 0;
}

static int level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("popcnt"))
        return -1;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12  /* these names have all features of a level */
    return __builtin_cpu_supports("x86-64-v4") ? 2 : __builtin_cpu_supports("x86-64-v3") ? 1 : 0;
#else
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi")
        || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("lzcnt"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
           && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? 2 : 1;
#endif
}

/* Runs TEXT, and what it says: see `start` in start.py. */
static PyObject *started(PyObject *module)
{
    PyObject *names = PyModule_GetDict(module), *ran, *found;
    PyObject *space = PyDict_New();
    if (space == NULL || PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins()) < 0
        || PyDict_SetItemString(space, "__name__", PyDict_GetItemString(names, "__name__")) < 0
        || PyDict_SetItemString(space, "names", names) < 0 || PyModule_AddFunctions(module, kernel_methods) < 0)
        return NULL;
    PyObject *code = PyMarshal_ReadObjectFromString(TEXT, sizeof TEXT - 1);
    ran = code == NULL ? NULL : PyEval_EvalCode(code, space, space);
    Py_XDECREF(code);
    if (ran == NULL)
        return NULL;
    Py_DECREF(ran);
    found = PyObject_CallFunction(PyDict_GetItemString(space, "begin"), "in", level(), (Py_ssize_t)(void *)exp);
    Py_DECREF(space);
    return found;
}

static int fill(PyObject *module, PyObject *found)
{
    PyObject *chosen, *lanes, *reads, *numbers, *calls;
    const char *level;
    if (!PyArg_ParseTuple(found, "OOOOOsk", &chosen, &lanes, &reads, &numbers, &calls, &level, &main_thread))
        return -1;
    for (LibraryTable *each = library_tables; each->name != NULL; each++) {
        PyObject *bytes = PyDict_GetItemString(numbers, each->name);
        if (bytes != NULL && PyBytes_GET_SIZE(bytes) == each->size)
            memcpy(each->place, PyBytes_AS_STRING(bytes), each->size);
    }
    for (PythonFunction *each = python_functions; each->name != NULL; each++)
        *each->place = Py_XNewRef(PyDict_GetItemString(calls, each->name));
    for (int k = 0; k < LOOPS; k++) {
        const Version *version = &loops[k]->versions[PyLong_AsLong(PyList_GET_ITEM(chosen, k))];
        loops[k]->kernel = version->kernel;
        loops[k]->words[FEED] = (int64_t)version->feed;
        for (int n = CONVERSIONS; n < WORDS; n++)
            loops[k]->words[n] = LANES;
        loops[k]->lane = Py_NewRef(PyList_GET_ITEM(lanes, k));
        loops[k]->reads = Py_NewRef(PyList_GET_ITEM(reads, k));
    }
    for (int k = 0; k < LOOPS; k++)
        if (loops[k]->first && add_ufunc(module, loops[k]) < 0)
            return -1;
    return PyModule_AddStringConstant(module, "__level__", level);
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = MODULE, .m_doc = ABOUT, .m_size = -1};

/* Whether NumPy has the C interface that this was built for; NumPy prints more than a sentence where it has not. */
static int import_numpy(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *version = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "__version__");
    const char *text = version == NULL ? NULL : PyUnicode_AsUTF8(version);
    if (text != NULL && atoi(text) < 2)
        PyErr_Format(PyExc_ImportError, MODULE " was built for NumPy 2 and later, and this is NumPy %s", text);
    Py_XDECREF(numpy);
    Py_XDECREF(version);
    return PyErr_Occurred() || PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0 ? -1 : 0;
}

PyMODINIT_FUNC INIT(void)
{
    if (import_numpy() < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition), *found;
    if (module == NULL)
        return NULL;
    found = find_numpy_loops() < 0 ? NULL : started(module);
    if (found == NULL || fill(module, found) < 0)
        Py_CLEAR(module);
    Py_XDECREF(found);
    return module;
}
