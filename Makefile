.DEFAULT_GOAL := help
.PHONY: help setup build release test test-release demo bench fuzz attack memory torture failover sbom package format lint clean

SWIFT_BUILD := swift build --explicit-target-dependency-import-check error
# With the Swift runtime in the program, accepting requests costs up to 9 % less CPU time.
SWIFT_RELEASE := $(SWIFT_BUILD) -c release --static-swift-stdlib
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard SDK)

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## Install missing Debian packages.
	@Scripts/setup.sh test

build: ## Build the debug programs: .build/debug/peal and .build/debug/peal-sim.
	@Scripts/setup.sh build
	$(SWIFT_BUILD) --product peal
	$(SWIFT_BUILD) --product peal-sim

release: ## Build the optimized server for production: .build/release/peal.
	@Scripts/setup.sh build
	$(SWIFT_RELEASE) --product peal

test: setup ## Build everything and run all tests.
	@Scripts/test.sh

test-release: setup ## Build everything optimized and run all tests against it, browser tests included.
	@PEAL_TEST_CONFIGURATION=release Scripts/test.sh

demo: build ## Run a demo with simulated devices and keep the server running (DEMO_EXIT=1: exit afterwards).
	@exec python3 Scripts/demo.py

bench: setup ## Run the benchmarks on release builds, and compare ratios with their thresholds (options: BENCH_OPTIONS).
	$(SWIFT_RELEASE) --product peal
	$(SWIFT_RELEASE) --product peal-sim
	$(SWIFT_RELEASE) --product peal-lab
	@exec python3 Benchmarks/bench.py $(BENCH_OPTIONS)

FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%s)

fuzz: ## Fuzz the HTTP/2 connection for an hour, or for FUZZ_SECONDS, using a release build.
	@Scripts/setup.sh build
	$(SWIFT_RELEASE) --product peal-lab
	@exec .build/release/peal-lab fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_OPTIONS)

ATTACK_SECONDS ?= 110

attack: setup ## Attack a release build for two minutes and print what held (ATTACK_SECONDS, ATTACK_OPTIONS).
	$(SWIFT_RELEASE) --product peal
	$(SWIFT_RELEASE) --product peal-sim
	@[ -x .venv/bin/python ] || python3 -m venv .venv
	@.venv/bin/python -m pip install --quiet --requirement Tests/Clients/requirements.txt
	@exec .venv/bin/python Tests/Clients/attack.py --seconds $(ATTACK_SECONDS) $(ATTACK_OPTIONS)

MEMORY_SECONDS ?= 3600
MEMORY_SEED ?= $(shell date +%s)

memory: setup ## Send random requests to a release build for an hour, or for MEMORY_SECONDS, and print its memory.
	$(SWIFT_RELEASE) --product peal
	$(SWIFT_RELEASE) --product peal-sim
	@[ -x .venv/bin/python ] || python3 -m venv .venv
	@.venv/bin/python -m pip install --quiet --requirement Tests/Clients/requirements.txt
	@exec .venv/bin/python Tests/Clients/fuzz_memory.py --seconds $(MEMORY_SECONDS) --seed $(MEMORY_SEED)

TORTURE_RUNS ?= 20
TORTURE_SEED ?= $(shell date +%s)

torture: build ## Kill and starve servers while they send, and count what arrived (options: TORTURE_OPTIONS).
	$(SWIFT_BUILD) --product peal-lab
	@exec .build/debug/peal-lab torture --runs $(TORTURE_RUNS) --seconds 60 --messages 120 --kills 6 \
	  --seed $(TORTURE_SEED) $(TORTURE_OPTIONS)

failover: ## Kill the primary of a PostgreSQL pair under load, promote its standby, and count what arrived.
	$(SWIFT_BUILD) --build-tests
	PEAL_FAILOVER_SECONDS=60 swift test --skip-build --filter 'PealServerTests.FailoverTests'

# A folder with built programs; without it they are built for release.
BIN ?=

package: ## Make dist/: a tarball and a Debian package (BIN: a folder with built programs).
	@Scripts/setup.sh build
ifeq ($(BIN),)
	$(SWIFT_RELEASE) --product peal
	$(SWIFT_RELEASE) --product peal-sim
	$(SWIFT_RELEASE) --product peal-lab
endif
	@exec python3 Scripts/package.py $(or $(BIN),.build/release)

sbom: ## Write a software bill of materials, after a build: .build/sbom.json (CycloneDX).
	@Scripts/sbom.py

format: ## Format the Swift sources in place.
	swift format --in-place --recursive --parallel $(SWIFT_SOURCES)
	@git ls-files -z '*.swift' | xargs -0 python3 Scripts/wrap_comments.py

lint: ## Check the format of the Swift sources.
	swift format lint --strict --recursive --parallel $(SWIFT_SOURCES)

clean: ## Remove all build products.
	rm -rf .build .venv
