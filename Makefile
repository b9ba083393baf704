# `make` sets everything up and does the main job; `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
GHASHGEN := $(BIN)/ghashgen
STAMP := $(VENV)/.installed

DEBIAN := sh .ci/debian.sh

.PHONY: all help setup nasm packages peers generate prove prove-kernels attack validate validate-all audit quick \
  test check lint types spelling bench tune compare hosts bench-tool report docs clean

all: generate prove validate ## set up, generate, prove the identities, validate (the default)
	@echo
	@echo "Done: the algebraic identities are proved, and every kernel of generated/ ran right on a sample of inputs."
	@echo "The kernels' bytes are not proved by this. Next:"
	@echo "  make prove-kernels  proves the bytes of every kernel, for every input"
	@echo "  make validate-all   runs every vector"
	@echo "  make test           runs the tests; make help lists all targets"
	@echo "  docs/use.md         says how to take a kernel; $(GHASHGEN) recommend names one for this CPU"

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

setup: $(STAMP) nasm ## install the locked dependencies in .venv, and nasm

$(STAMP): pyproject.toml .ci/requirements.lock .ci/emulate.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is needed; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv is missing: run: sudo apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r .ci/requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
	  -r .ci/emulate.lock 2>/dev/null || \
	  echo "no emulator for this platform (bochscpu-python 0.3.1): wide kernels need a CPU that has them" >&2
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

nasm: # 2.14 or later
	@$(DEBIAN) nasm "nothing can be assembled" command -v $${GHASHGEN_NASM:-nasm}

# Tests that need these are skipped without them.
packages: setup peers
	@$(DEBIAN) chromium "the report and the site are not tested in a browser" sh -c 'test -n "$$GHASHGEN_CHROMIUM" || \
	  command -v chromium || command -v chromium-browser || command -v google-chrome' || true
	@$(DEBIAN) python3-peachpy "--backend peachpy is neither available nor tested" \
	  $(BIN)/python -c 'from ghashgen.output.peachpy.tool import require; require()' || true
	@$(DEBIAN) gcc-mingw-w64-x86-64 "the dispatcher is not compiled for Windows" \
	  command -v x86_64-w64-mingw32-gcc || true
	@$(DEBIAN) wine64 "the dispatcher is not run with the Windows convention" sh -c \
	  'command -v wine64 || command -v wine || test -x /usr/lib/wine/wine64' || true
	@$(DEBIAN) llvm "port bounds are not compared with LLVM's" \
	  $(BIN)/python -c 'from ghashgen.support.toolchain import find_llvm_mca; find_llvm_mca()' || true
	@$(DEBIAN) "cmake ninja-build" "no vendored folder is built by CMake" \
	  sh -c 'command -v cmake && command -v ninja' || true
	@$(DEBIAN) meson "no vendored folder is built by Meson" command -v meson || true
	@$(DEBIAN) pkg-config "no vendored folder is found by pkg-config" command -v pkg-config || true
	@$(DEBIAN) binutils "nothing is assembled by GNU as" command -v as || true
	@$(DEBIAN) clang "nothing is assembled by Clang or for Mach-O" command -v clang || true
	@$(DEBIAN) binutils-aarch64-linux-gnu "AArch64 is not assembled by GNU as" \
	  sh -c 'test "$$(uname -m)" = aarch64 || command -v aarch64-linux-gnu-as' || true
	@$(DEBIAN) "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" "AArch64 is not run" \
	  sh -c 'test "$$(uname -m)" = aarch64 || command -v aarch64-linux-gnu-gcc' || true
	@$(DEBIAN) qemu-user "AArch64 is not run" \
	  sh -c 'test "$$(uname -m)" = aarch64 || command -v qemu-aarch64' || true

peers: # libraries to compare with
	@$(DEBIAN) libssl-dev "OpenSSL is not compared" \
	  sh -c 'test -f "$$(cc -print-file-name=libcrypto.a)"' || true
	@$(DEBIAN) libipsec-mb-dev "Intel's library is not compared" \
	  sh -c 'test -f "$$(cc -print-file-name=libIPSec_MB.a)"' || true

generate: setup ## emit the catalogue into generated/
	@$(GHASHGEN) generate

prove: setup ## prove the algebraic identities
	@$(GHASHGEN) prove --identities --brief

prove-kernels: setup ## prove every kernel from its bytes, for every input (minutes)
	@$(GHASHGEN) prove --write --no-cache

attack: setup ## attack the prover and run whatever it accepts (fifty minutes)
	@$(GHASHGEN) attack --seconds 3000

bench: setup peers ## measure kernels and the installed peers
	@$(GHASHGEN) bench

tune: setup ## measure the catalogue and name the best kernel for each class of lengths
	@$(GHASHGEN) tune

compare: setup ## repeat the comparisons of papers (ghashgen compare --record stores them)
	@$(GHASHGEN) compare solaris
	@$(GHASHGEN) compare intel-2010
	@$(GHASHGEN) compare intel-2023
	@$(GHASHGEN) compare intel-2023-ghash
	@$(GHASHGEN) compare tls

validate: setup generate ## run every kernel around its group sizes and at random lengths, and compare the results
	@$(GHASHGEN) validate --brief

validate-all: setup generate ## run every kernel on every vector and at many more random points
	@$(GHASHGEN) validate --all --brief

audit: setup ## count instructions in the assembled bytes
	@$(GHASHGEN) audit

report: setup ## write a page of what is proved, counted and measured: build/report/report.html
	@$(GHASHGEN) report

docs: report ## build the site from the Markdown pages: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict -f docs/site/mkdocs.yml
	@echo build/site/index.html

quick: setup ## run a few tests of every room: those that tests/quick.toml names
	@$(BIN)/pytest -n 2 --dist worksteal -q --quick

test: setup packages ## run the tests, without the cases that tests/thorough.toml leaves to make check
	@$(BIN)/pytest -n 2 --dist worksteal -rs

lint: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup
	@$(BIN)/mypy

spelling: setup
	@$(BIN)/codespell

check: lint types spelling packages ## check format, types, spelling, every test, generated/ and proofs
	@$(BIN)/pytest -n 2 --dist worksteal -rs --thorough
	@$(GHASHGEN) generate --check
	@$(GHASHGEN) prove
	@$(GHASHGEN) summary --check
	@$(GHASHGEN) compare --check
	@$(GHASHGEN) model --check

# HOSTS="nettle go" tries these alone. SOURCES names a folder of sources: of HOST, or of one version as HOST@VERSION.
hosts: setup ## try the kernels in the sources of every host that this machine can get, and write docs/hosts.md (an hour)
	@mkdir -p build/hosts
	@for host in $(or $(HOSTS),$(if $(SOURCES),$(notdir $(wildcard $(SOURCES)/*@*))) \
	  $$($(BIN)/python -c 'from ghashgen.output.hosts.registry import hosts; \
	  print(*(name for name, host in hosts().items() if host.trial))')); do \
	  given="$(SOURCES)/$$host"; test -n "$(SOURCES)" && test -d "$$given" || given=; \
	  if $(GHASHGEN) vendor --try $${host%@*} $${given:+--source "$$given"} --json > build/hosts/$$host.json; \
	    then mv build/hosts/$$host.json docs/hosts/; else echo "$$host: not tried" >&2; fi; done
	@$(GHASHGEN) summary --write

bench-tool: setup ## measure how long the tool itself takes
	@$(GHASHGEN) bench-tool

clean: ## delete what make built, except generated/
	rm -rf build $(VENV)
