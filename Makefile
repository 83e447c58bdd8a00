.DEFAULT_GOAL := help
.PHONY: help setup build test demo bench fuzz format lint clean

SWIFT_BUILD := swift build --explicit-target-dependency-import-check error
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard SDK)

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## Install the Debian packages that are missing.
	@Scripts/setup.sh test

build: ## Build the debug programs: .build/debug/peal and .build/debug/peal-sim.
	@Scripts/setup.sh build
	$(SWIFT_BUILD) --product peal
	$(SWIFT_BUILD) --product peal-sim

test: setup ## Install what is missing, build everything and run every test.
	@Scripts/test.sh

demo: build ## Start simulator and server, send pushes and show what arrived (DEMO_EXIT=1 ends after that).
	@exec python3 Scripts/demo.py

bench: setup ## Measure CPU time per notification beside h2load's, on release builds.
	$(SWIFT_BUILD) -c release --product peal
	$(SWIFT_BUILD) -c release --product peal-sim
	@exec python3 Benchmarks/fanout.py $(BENCH_OPTIONS)

FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%s)

fuzz: ## Feed the HTTP/2 connection with octets by chance for an hour (or FUZZ_SECONDS), on a release build.
	@Scripts/setup.sh build
	$(SWIFT_BUILD) -c release --product peal-lab
	@exec .build/release/peal-lab fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_OPTIONS)

format: ## Format the Swift sources in place.
	swift format --in-place --recursive --parallel $(SWIFT_SOURCES)
	@git ls-files -z '*.swift' | xargs -0 python3 Scripts/wrap_comments.py

lint: ## Check the format without changing anything.
	swift format lint --strict --recursive --parallel $(SWIFT_SOURCES)

clean: ## Remove everything that was built.
	rm -rf .build .venv
