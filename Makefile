# Every target makes .venv by itself and installs what it needs: `make demo` and `make test` are all there is to type.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PACKAGES := fullgraph.rules fullgraph.lint fullgraph.jit fullgraph.server fullgraph.cli

TORCHES := 2.9.1 2.11.0 2.13.0 2.14.1
MEASURED := $(TORCHES) 2.15.0

.PHONY: demo test torch-versions check bench extension generate docs screens evidence clean

demo: $(INSTALLED)  ## check and verify the examples
	$(BIN)/python examples/demo.py

test: $(INSTALLED)  ## all tests, the slow ones and those that need torch included
	$(BIN)/python -m pytest -n auto --durations=25

torch-versions:  ## the tests of observing, with each version of torch that it is meant for
	set -e; for version in $(TORCHES); do \
		python=$$(PYTHON=$(PYTHON) tools/torch-env $$version); \
		$$python -m pytest -p no:cacheprovider tests/jit/test_capture*.py; \
	done

check: $(INSTALLED)  ## lint, types of the installed package, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/typecheck.py $(PACKAGES)

bench: $(INSTALLED)  ## time both halves, and what observing costs
	$(BIN)/python bench/lint.py
	$(BIN)/python bench/verify.py
	$(BIN)/python bench/capture.py
	$(BIN)/python bench/plugin.py
	$(BIN)/python bench/server.py
	$(BIN)/python bench/jit.py
	$(BIN)/python bench/jit_warm.py
	$(BIN)/python bench/memory.py
	$(BIN)/python bench/call.py

extension:  ## test the VS Code extension and pack it; needs Node.js 20 or newer
	cd editors/vscode && npm ci --no-audit --no-fund && npm test && npm run package

generate: $(INSTALLED)  ## write the catalogue, the rule pages and the schemas
	$(BIN)/python tools/generate.py

docs: $(INSTALLED)  ## the site, into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

screens: $(INSTALLED)  ## run the commands in README and docs, and write what they print into them
	$(BIN)/python tools/screens.py

evidence: $(INSTALLED)  ## compile the rules' examples and the probes with each version of torch; what is known is not asked
	for version in $(MEASURED); do \
		python=$$(PYTHON=$(PYTHON) tools/torch-env $$version) || exit; \
		$(BIN)/fullgraph rules prove --torch-python $$python; \
	done
	$(BIN)/python tools/generate.py

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[jit,dev,docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
