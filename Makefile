# make run | test | test-rest | test-all | check | bench | grid-jets | grid-behavior | grid-games | grid-amplitudes |
# lock | clean. Needs Python 3.11 or newer with pip, and make; everything else goes to .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
ARGS ?=

# Packages are installed while pip works, and types are checked while tests wait for servers.
MAKEFLAGS += --jobs=3

.PHONY: run test test-rest test-all check types tests bench grid-jets grid-behavior grid-games grid-amplitudes lock browser slurm clean python

run: $(VENV)/run.stamp
	@$(BIN)/python -m isoplan.trainers.pytorch & exec $(BIN)/isoplan app $(ARGS)

# The parts of the suite are listed in tests/parts.py. What they need is installed first: a browser and Slurm, through apt.
part = first
pytest = $(BIN)/python -m pytest -rs -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder --part $(part) $(ARGS)
test: check tests
tests: $(VENV)/dev.stamp browser slurm
	$(pytest)
test-rest: part = rest
test-all: part = all
test-all: check
test-rest test-all: $(VENV)/dev.stamp $(VENV)/trackers.stamp browser slurm
	$(pytest)

# mypy reads the folders at the top as isoplan.app, isoplan.engine, isoplan.trainers and isoplan.data.
types:
	@rm -rf build/types && mkdir -p build/types/isoplan
	@for part in app engine trainers data isoplan/*.py isoplan/py.typed; do \
	  ln -s "../../../$$part" build/types/isoplan/; done

check: $(VENV)/dev.stamp types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks $(ARGS)

# The bundled grids of a family, simulation included: cell by cell in a workspace in build/, on from where it was stopped.
# $(call trained,FAMILY,FOLDER OF GRIDS)
define trained
for grid in $(2)/$(1)_*.toml; do \
  $(BIN)/isoplan train $$grid --workspace build/$(1) --yes || exit 1; \
  $(BIN)/python -m isoplan.trainers.bundle $(1) build/$(1) $(2); done
endef
grid-jets grid-behavior grid-amplitudes: grid-%: $(VENV)/run.stamp
	@$(call trained,$*,data/grids)

# Their log goes into build/behavior/behavior/games first: data/README.md.
grid-games: $(VENV)/run.stamp
	@$(call trained,behavior,data/grids/games)

# The packages of the families of cells, if the platform has a wheel. The locks pin all of them but the CUDA libraries,
# which are dependencies of the CUDA build of torch alone: they are installed where the package index has that build.
families = $(PIP) install --quiet --only-binary :all: -c requirements.lock -c requirements-train.lock $(1)
cuda := ^(cuda|nvidia|triton)

# An environment that was left half-made is made again.

$(VENV)/run.stamp: Makefile requirements.lock requirements-train.lock pyproject.toml | $(BIN)/python
	@$(BIN)/python -c "import pip" 2>/dev/null || "$(PYTHON)" -m venv --clear $(VENV)
	@echo "Setting up $(VENV) from requirements.lock: a minute or two, once"
	@$(PIP) install --quiet -r requirements.lock
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@$(call families,-r requirements-train.lock) 2>/dev/null || while read -r one; do \
	  out=$$($(call families,"$$one") 2>&1) || echo "$$one is not installed ($$(echo "$$out" | tail -n 1)). Cells and commands that need it say so."; \
	done < requirements-train.lock
	@echo "Compiling the fitting kernels"
	-@$(BIN)/python -m isoplan.engine.fitting.solver.kernels
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/run.stamp
	@echo "Adding the test tools of requirements-dev.lock"
	@$(PIP) install --quiet -r requirements-dev.lock
	@touch $@

# Experiment trackers that write the stores of the tests of `isoplan import`. They have an environment of their own.
$(VENV)/trackers.stamp: requirements-trackers.lock $(VENV)/run.stamp
	@echo "Installing the trackers of requirements-trackers.lock in $(VENV)/trackers"
	@"$(PYTHON)" -m venv --clear $(VENV)/trackers
	@$(VENV)/trackers/bin/python -m pip --disable-pip-version-check --no-input install --quiet --no-deps -r requirements-trackers.lock
	@touch $@

$(BIN)/python: | python
	@"$(PYTHON)" -m venv --clear $(VENV)

python:
	@[ -n "$(PYTHON)" ] || { echo "Isoplan needs Python 3.11 or newer: install it, or say where it is with make PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "Isoplan needs Python 3.11 or newer, and $(PYTHON) is older: say where another one is with make PYTHON=/path/to/python3." >&2; exit 1; }
	@"$(PYTHON)" -c "import venv, ensurepip" 2>/dev/null || { echo "$(PYTHON) has no venv module: install it (Debian, Ubuntu: apt-get install python3-venv) and run make again." >&2; exit 1; }

# $(call installed,PROGRAMS,PACKAGES,FOR): nothing where one of PROGRAMS is there, else PACKAGES through apt where that is allowed.
define installed
for name in $(1); do PATH="$$PATH:/usr/sbin" command -v $$name >/dev/null 2>&1 && exit 0; done; \
if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else sudo=no; fi; \
if [ "$$sudo" != no ] && command -v apt-get >/dev/null 2>&1; then \
  echo "Installing $(firstword $(2)) for the $(3) tests"; \
  $$sudo apt-get update -qq && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(2) >/dev/null && exit 0; \
fi
endef

# Browser tests drive the system's chromium, at best the one without windows, which takes a sixth less of the processor;
# without any they are skipped, unless ISOPLAN_STRICT asks for them.
browsers := chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable
browser:
	@$(call installed,$(browsers),chromium-headless-shell fonts-liberation,browser); \
	$(call installed,$(browsers),chromium fonts-liberation,browser); \
	echo "For the browser tests install chromium (Debian: apt-get install chromium; macOS: brew install --cask chromium) and run make test again." >&2

# Cells as jobs of Slurm are tested on one that the tests start in a folder; the same holds for it.
slurm: browser  # one at a time: they share apt's lock
	@$(call installed,slurmctld,slurm-wlm munge,Slurm); \
	echo "For the tests of Slurm install it (Debian: apt-get install slurm-wlm munge) and run make test again." >&2

# Lightning and transformers use the torch of $(VENV), so they are installed without their dependencies.
trackers := mlflow tensorboard optuna wandb hydra-core lightning-utilities huggingface_hub tokenizers safetensors regex
# The newest versions that pyproject.toml allows, without hashes, hosts and local versions, so that every platform reads them.
frozen = build/lock/bin/python -m pip freeze --all --exclude pip --exclude isoplan | sed 's/+[^ ;]*//' | grep -vE '$(cuda)'
lock: python
	rm -rf build/lock
	"$(PYTHON)" -m venv build/lock
	build/lock/bin/python -m pip install --quiet "setuptools>=77" ".[cluster]"
	$(frozen) > requirements.lock
	build/lock/bin/python -m pip install --quiet -c requirements.lock ".[cluster,train,jets,amplitudes,lloca]" torch==2.13.0
	$(frozen) | grep -vxFf requirements.lock > requirements-train.lock
	build/lock/bin/python -m pip install --quiet -c requirements.lock ".[cluster,dev]"
	$(frozen) | grep -vxFf requirements-train.lock > requirements-dev.lock
	"$(PYTHON)" -m venv build/lock --clear
	build/lock/bin/python -m pip install --quiet $(trackers)
	build/lock/bin/python -m pip install --quiet --no-deps lightning pytorch-lightning torchmetrics transformers
	$(frozen) > requirements-trackers.lock
	rm -rf build/lock

clean:
	rm -rf $(VENV) build dist *.egg-info
