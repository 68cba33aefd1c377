# conset: `make demo` sets everything up and does the main job, `make test` sets everything up and passes the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: core
core: ## build the C++ extension in place, for work on it
	@mkdir -p build
	@flock build/core.lock sh -c '\
	  $(BIN)/cmake -S cpp -B build/core -G Ninja -DCONSET_PYTHON=ON -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python) >build/core.configure.log 2>&1 || { cat build/core.configure.log; exit 1; }; \
	  $(BIN)/cmake --build build/core 2>&1 | tail -40; \
	  for f in build/core/_core*.so; do cp $$f src/conset/.tmp_core.so && mv src/conset/.tmp_core.so src/conset/$$(basename $$f); done'
