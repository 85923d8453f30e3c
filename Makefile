# `make` alone lists the targets. Everything is installed into virtual environments beside this file, and installed
# again only after pyproject.toml, the Makefile or the compiled sources change.

# Python 3.11 or newer: make test PYTHON=python3.13
PYTHON   ?=
# Passed to pytest: make test-torch ARGS="-k mask -x"
ARGS     ?=
# Number of parallel test processes.
JOBS     ?= 2

BACKENDS := jax torch tensorflow
# tensorflow-cpu is not built for every system; there the full package is the CPU one.
TF       := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),tensorflow-cpu,tensorflow)
# torch is pinned because the tests check single attributes of its modules and parameters, JAX because they set XLA flags.
# tf_keras reads and writes Keras 2 files. It depends on a TensorFlow package of another name, so it is installed separately.
TF_KERAS   := tf_keras==2.21.0
FOR_TEST   := -e ".[jax,dev]" jax==0.10.2 torch==2.13.0 $(TF) flax
FOR_DEMO   := -e ".[jax]"
# modelscan looks at .keras files only where TensorFlow is installed, and at .h5 files only with h5py.
FOR_SCANNERS := "modelscan[h5py]==0.8.8" picklescan==1.0.5 $(TF)
# TensorFlow comes along because the lookup layers hold its objects on JAX, too.
FOR_OLDEST := -e ".[jax,dev]" jax==0.10.2 $(TF) flax keras==3.12.0

# Keep .pyc files even if the environment disables them: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=
# On the CPU, without start-up chatter, and one thread per test process: they share the cores already.
QUIET  := CUDA_VISIBLE_DEVICES=-1 JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3
pytest  = $(QUIET) OMP_NUM_THREADS=1 KERAS_BACKEND=$(1) $(2)/bin/python -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-others test-jax test-torch test-tensorflow test-python-walk test-oldest zoo fuzz scanners bench bench-verbs bench-growth bench-check check chromium clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | awk -F '|' '{ printf "%-24s%s\n", $$1, $$2 }'

demo: .venv-demo/.ready ## clone two models and compare the results (JAX on the CPU)
	@$(QUIET) KERAS_BACKEND=jax .venv-demo/bin/python -m ramet demo

test: CASES := once
test: .venv/.ready chromium ## run every test on all three backends; parametrized cases and slow tests on one of them
test-others: CASES := others
test-others: .venv/.ready ## run the cases that `make test` left out, on the other backends
test test-others:
	@failed=; \
	$(foreach b,$(BACKENDS),echo "== tests on $(b)"; \
	  $(call pytest,$(b),.venv) --cases $(CASES) $(ARGS) || failed="$$failed $(b)";) \
	$(verdict)

test-jax: .venv/.ready chromium ## run every test and case on JAX
test-torch: .venv/.ready ## run every test and case on PyTorch
test-tensorflow: .venv/.ready ## run every test and case on TensorFlow
test-jax test-torch test-tensorflow:
	@$(call pytest,$(@:test-%=%),.venv) $(ARGS)

test-python-walk: .venv/.ready ## run every test on PyTorch with the Python walk instead of the compiled one
	@RAMET_PURE_PYTHON=1 $(call pytest,torch,.venv) $(ARGS)

test-oldest: .venv-oldest/.ready chromium ## run every test on JAX with the oldest supported Keras
	@$(call pytest,jax,.venv-oldest) $(ARGS)

# Pages are tested in a real browser. If it cannot be installed, these tests are skipped with the reason.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "installing chromium, for the tests of pages ..."; \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	    && { apt-get install -qy --no-install-recommends chromium || { apt-get update -q && apt-get install -qy --no-install-recommends chromium; }; } >/dev/null 2>&1 \
	  || echo "ramet: chromium could not be installed; the tests of pages are skipped. 'apt-get install chromium' as root runs them." >&2; }

zoo: .venv/.ready ## clone and edit every architecture of keras.applications on each backend (slow)
	@failed=; \
	$(foreach b,$(BACKENDS),echo "== zoo on $(b)"; \
	  $(call pytest,$(b),.venv) -m zoo --dist loadgroup $(ARGS) || failed="$$failed $(b)";) \
	$(verdict)

fuzz: .venv/.ready ## read 100,000 mutated model files: each must be read, or refused with one of ramet's errors
	@.venv/bin/python -m tests.fuzz --jobs $(JOBS) $(ARGS)

scanners: .venv/.ready .venv-scanners/.ready ## compare ramet scan with other scanners on hostile and clean files
	@.venv/bin/python -m bench.scanners .venv-scanners/bin/python

bench: .venv/.ready bench-growth ## compare ramet.clone with every other way to copy a model (twenty minutes or more)
	@.venv/bin/python -m bench $(ARGS)

bench-verbs: .venv/.ready ## compare the other functions and commands with doing the same by hand (a few minutes per backend)
	@.venv/bin/python -m bench --only verbs $(ARGS)

bench-growth: .venv/.ready ## measure how the work on graphs and on diffs grows with their size
	@.venv/bin/python -m bench.graph_growth
	@.venv/bin/python -m bench.diff_growth

bench-check: .venv/.ready ## run the benchmarks and fail if a ratio fell by more than a third below the stored one
	@.venv/bin/python -m bench.check $(ARGS)

check: .venv/.ready ## run the linters and the type checker
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

clean: ## remove the virtual environments and caches
	@rm -rf .venv .venv-demo .venv-oldest .venv-scanners dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .jax-cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# All backends run even if one fails, to show which ones do.
verdict = if [ -n "$$failed" ]; then echo "failed on:$$failed"; exit 1; fi; echo "passed on: $(BACKENDS)"

.venv/.ready: size := torch, tensorflow, jax: 3 GB or more, a few minutes
.venv/.ready: packages := $(FOR_TEST)
.venv/.ready: alone := $(TF_KERAS)
.venv-demo/.ready: size := jax: about 700 MB, a minute or two
.venv-demo/.ready: packages := $(FOR_DEMO)
.venv-oldest/.ready: size := the oldest supported Keras with jax and tensorflow: 2 GB, a few minutes
.venv-oldest/.ready: packages := $(FOR_OLDEST)
.venv-oldest/.ready: alone := $(TF_KERAS)
.venv-scanners/.ready: size := other scanners of model files, with tensorflow: 1.5 GB, a minute or two
.venv-scanners/.ready: packages := $(FOR_SCANNERS)

.venv/.ready .venv-demo/.ready .venv-oldest/.ready: hatch_build.py $(wildcard src/ramet/_copy/_compiled/*.p*)
.venv/.ready .venv-demo/.ready .venv-oldest/.ready .venv-scanners/.ready: pyproject.toml Makefile
	@$(find_python); \
	echo "setting up $(@D) ($(size), once) ..."; \
	rm -f $@; \
	{ $(usable) || "$$python" -m venv --clear $(@D); } \
	  && $(@D)/bin/python -m pip install -q --disable-pip-version-check $(packages) \
	  && { [ -z "$(alone)" ] || $(@D)/bin/python -m pip install -q --disable-pip-version-check --no-deps $(alone); } \
	  || { echo "ramet: $(@D) could not be set up, for the reason above; run the same command again to go on." >&2; exit 1; }; \
	touch $@

# A working environment is kept and updated. An incomplete one, or one for another Python, is created again.
usable = [ -z "$(PYTHON)" ] && $(@D)/bin/python -m pip --version >/dev/null 2>&1

# Debian ships Python without ensurepip, which venv needs; such a Python is skipped. TensorFlow supports new Python
# versions late, so older ones come first.
define find_python
python=; old=; bare=; \
for candidate in $(or $(PYTHON),python3.11 python3.12 python3.13 python3 python); do \
  version=$$("$$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue; \
  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { old="$$candidate is $$version"; continue; }; \
  "$$candidate" -c 'import ensurepip, venv' 2>/dev/null || { bare="$$candidate"; continue; }; \
  python="$$candidate"; break; \
done; \
if [ -z "$$python" ]; then \
  if [ -n "$$bare" ]; then found="$$bare has no venv module (on Debian and Ubuntu: apt install python3-venv)"; \
  elif [ -n "$$old" ]; then found="$$old"; \
  else found="$(or $(PYTHON),python3) was not found"; fi; \
  echo "ramet needs Python 3.11 or newer, and $$found: install one, or name one with 'make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3'." >&2; \
  exit 1; \
fi
endef
