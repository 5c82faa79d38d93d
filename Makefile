# make demo | test | check | fuzz | bench | corpus: each sets up .venv by itself. Needs Python >= 3.11, make and gcc.

# The first Python that is new enough and can make a virtual environment; PYTHON=... chooses another one.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
PYTEST_ARGS ?= -n auto

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo examples compiled test slow dist pythons lowest check lint fuzz soak mixed adversary shapes mutants bench bench-arrays bench-dtypes ratios scoreboard real real-kernels threads goals gate corpus gallery docs site linkcheck clean verify-libm

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(READY)  ## the virtual environment in .venv, with everything that development needs

$(READY): pyproject.toml
	@test -n '$(PYTHON)' || { echo 'no Python >= 3.11 with venv and ensurepip found; set PYTHON=/path/to/python' >&2; exit 1; }
	@"$(PY)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || '$(PYTHON)' -m venv --clear $(VENV)
	"$(PY)" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

demo: $(READY)  ## flatten real functions, check and time them, render out/scene.png
	"$(PY)" examples/demo.py

# Tests start some hundred processes. Each of them compiles the modules of pyflat, 1 s, where Python writes no bytecode.
compiled: $(READY)
	@"$(PY)" -m compileall -q -j 0 pyflat benchmarks examples tests

test: compiled  ## the tests, without those that are marked slow
	"$(PY)" -m pytest $(PYTEST_ARGS) -m 'not slow'

slow: compiled  ## the tests that are marked slow: more random programs, installing, memory
	"$(PY)" -m pytest $(PYTEST_ARGS) -m slow

dist: $(READY)  ## wheel and sdist in dist/: built, checked, installed in a bare environment, where README's examples run
	rm -rf dist
	"$(PY)" -m hatchling build
	"$(PY)" -m twine check --strict dist/*
	PYFLAT_DIST=dist "$(PY)" -m pytest -m slow tests/project/test_install.py

pythons: $(READY)  ## the tests of what a version of Python changes, on each of 3.11, 3.12 and 3.13 that is here
	.ci/pythons

lowest: $(READY)  ## the same tests with the lowest versions that pyproject.toml allows
	.ci/pythons lowest

check: lint test  ## ruff, mypy --strict, import contracts and the tests

lint: $(READY)  ## the static part of check
	"$(PY)" -m ruff check .
	"$(PY)" -m mypy
	"$(VENV)/bin/lint-imports"

fuzz: $(READY)  ## compare random programs with their twins: make fuzz PROGRAMS=20000 SEED=0
	"$(PY)" -m benchmarks.fuzz --programs $(or $(PROGRAMS),20000) --seed $(or $(SEED),0)

soak: $(READY)  ## random programs of all sorts that go on where the last run stopped: make soak MINUTES=30
	"$(PY)" -m benchmarks.soak --minutes $(or $(MINUTES),30)

verify-libm: $(READY)  ## compare vector code with the C library that is loaded, enter it into the table: VERIFY_ARGS='--lanes 1e8'
	"$(PY)" -m benchmarks.library_bits --write $(VERIFY_ARGS)

mixed: $(READY)  ## random calls with other libraries' columns against plain arrays: make mixed CALLS=20000 SEED=1
	"$(PY)" -m benchmarks.mixed_calls --calls $(or $(CALLS),1000) --seed $(or $(SEED),0)

adversary: $(READY)  ## adversarial functions on both targets, over many lanes: make adversary ADVERSARY_ARGS='--only cached'
	"$(PY)" -m benchmarks.adversaries $(ADVERSARY_ARGS)

shapes: $(READY)  ## programs of every shape and size on every way out: right or too large, seconds, MiB
	"$(PY)" -m benchmarks.shapes $(SHAPES_ARGS)

mutants: $(READY)  ## plant bugs into copies, see tests and the fuzzer find each, write docs/contributors/mutants.md
	"$(PY)" -m benchmarks.mutants --write

shaders: $(READY)  ## shaders without control flow: operations before and after each step
	"$(PY)" -m examples.shaders

$(BENCH_READY): $(READY)
	"$(PY)" -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $(BENCH_READY)

bench: $(BENCH_READY)  ## speed ratios against what people use instead: make bench BENCH_ARGS='--sizes 4096 --kernels bs'
	"$(PY)" -m benchmarks.lanes --out out/bench.jsonl --plot out/bench.svg $(BENCH_ARGS)

bench-arrays: $(READY)  ## index loops over arrays against njit, NumPy and C; --docs writes docs/contributors/array-kernels.md: make bench-arrays ARRAYS_ARGS='--kernels hdiff'
	"$(PY)" -m benchmarks.arrays $(ARRAYS_ARGS)

bench-dtypes: $(READY)  ## what dtypes and layouts of arguments cost; docs/contributors/dtypes.md: three minutes
	"$(PY)" -m benchmarks.dtypes --docs $(DTYPES_ARGS)

ratios: $(BENCH_READY)  ## all of bench, docs/contributors/benchmarks.md; goes on where it was interrupted: make ratios RATIOS_ARGS='--minutes 10'
	"$(PY)" -m benchmarks.lanes --out out/bench.jsonl --go-on --docs $(RATIOS_ARGS)

examples: $(READY)  ## measure the examples by field again, and draw their pictures
	"$(PY)" -m benchmarks.fields --write
	"$(PY)" docs/examples_pictures.py

scoreboard: $(BENCH_READY)  ## docs/compare/scoreboard.md: seventeen functions, and twenty drawn at random; goes on where it was interrupted: half an hour
	"$(PY)" -m benchmarks.scoreboard $(SCOREBOARD_ARGS)

real: $(READY)  ## functions of other people's packages, where installed, against numba's loops: make real REAL_ARGS=taxes
	"$(PY)" -m benchmarks.real_functions $(or $(REAL_ARGS),sample)

real-kernels: $(READY)  ## index loops of other people's packages, where PYTHON_WITH_THEM has these: make real-kernels REAL_KERNELS_ARGS='--draw all'
	"$(or $(PYTHON_WITH_THEM),$(PY))" -m benchmarks.real_kernels $(REAL_KERNELS_ARGS)

goals: $(BENCH_READY)  ## the goals for speed: what was measured, and which hold; docs/contributors/goals.md
	"$(PY)" -m benchmarks.goals --docs $(GOALS_ARGS)

threads: $(READY)  ## how calls scale with threads; docs/contributors/threads.md; on a machine that does nothing else
	"$(PY)" -m benchmarks.threads --docs $(THREADS_ARGS)

first-calls: $(READY)  ## first calls against numba.njit; docs/contributors/first-calls.md: make first-calls CORPUS=path/to/corpus
	"$(PY)" -m benchmarks.startup --large $(if $(CORPUS),--corpus '$(CORPUS)' --slowest 10) --docs

gate: $(READY)  ## whether the engine has become slower: speed ratios and their floors, in seconds
	"$(PY)" -m benchmarks.gate

corpus: $(READY)  ## run an open corpus of packaged functions: make corpus CORPUS=path/to/corpus
	@test -n '$(CORPUS)' || { echo 'usage: make corpus CORPUS=path/to/corpus' >&2; exit 2; }
	"$(PY)" '$(CORPUS)/run_corpus.py' --adapter benchmarks/corpus_adapter.py $(CORPUS_ARGS)

gallery: $(READY)  ## render the shaders of docs/how-to/gallery.md, and say how accurate they are
	"$(PY)" examples/gallery.py
	"$(PY)" examples/gallery_accuracy.py

site: $(READY)  ## the documentation as pages in out/site; a warning, a dead link or anchor is an error
	"$(PY)" -m sphinx --quiet --fail-on-warning --keep-going --jobs auto docs out/site

linkcheck: $(READY)  ## the links of the documentation that lead to other places: needs a network
	"$(PY)" -m sphinx --quiet --builder linkcheck docs out/linkcheck

docs: $(READY)  ## write the generated pages of docs/
	"$(PY)" docs/generate.py

clean:  ## remove what make made
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
