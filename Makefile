# Bare `make` lists the targets. `make check` is what CI runs.

GO      ?= go
TOOL     = $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 5000x

# Packages with code for a kind of CPU, and those that import them. The database loaders
# are left out: they have none and take minutes to compile.
PORTABLE = . ./fabric/... ./internal/... ./kvl ./kvl/keli/... ./rpc/... ./server/... ./store/...

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/remora, a static binary without C, optimized by a profile (script/pgo)
	CGO_ENABLED=0 $(GO) build -pgo=cmd/remora/remora.pgo -trimpath -o bin/remora ./cmd/remora

.PHONY: rdma
rdma: ## Build bin/remora with the verbs provider (needs script/deps rdma)
	CGO_ENABLED=1 $(GO) build -tags rdma -pgo=cmd/remora/remora.pgo -trimpath -o bin/remora ./cmd/remora

ROCEVM = $(GO) run ./test/rocevm/cmd/rocevm

.PHONY: test-rdma
test-rdma: ## Run verbs and the paths on real kernel verbs: Soft-RoCE in one guest and in two
	script/deps rdma
	$(ROCEVM) test -timeout 20m ./fabric/verbs ./rpc/rfp ./rpc/herd ./rpc/sendrecv ./rpc/onesided ./kvl/keli
	$(ROCEVM) test -timeout 10m -run 'History|Hammer' ./server
	$(ROCEVM) test -guests 2 -timeout 10m -tags rdma,wire -run TestWire ./fabric/verbs ./rpc/rfp ./rpc/herd ./rpc/sendrecv
	REMORA_ROCEVM=1 $(GO) test -count=1 -timeout 20m -v -run 'TwoGuests|Cancelled|TriedAgain' ./test/rocevm

.PHONY: test
test: ## Run all tests; failures are explained, and logs kept in bin/logs
	script/test -slowest 30

# Where goroutines share memory that the race detector sees: not the engines, which one
# goroutine uses, nor programs of several processes. make soak runs all packages.
RACE = . ./fabric/faults ./fabric/internal/... ./fabric/loop ./fabric/shm ./fabric/tcp \
	./internal/arena ./internal/fence ./kvl ./kvl/keli ./rpc/... ./server/...

.PHONY: race
race: ## Run concurrent packages under the race detector (needs a C compiler)
	CGO_ENABLED=1 script/test -race -slowest 30 $(RACE)

# Where code depends on the CPU, and what runs closest to it.
ARM64 = ./fabric/internal/... ./fabric/loop ./fabric/shm ./internal/arena ./internal/crc32c ./internal/cycles \
	./internal/fence ./rpc/wire

# Tests with a process of another user are left out: qemu cannot open the test binary as that user.
.PHONY: test-arm64
test-arm64: ## Run the tests of what depends on the CPU for arm64, under qemu-user
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 REMORA_EMULATOR=qemu-aarch64 REMORA_ITERATIONS=1/16 \
		$(GO) test -count=1 -vet=off -exec qemu-aarch64 -skip OtherUser $(ARM64)

.PHONY: stress
stress: ## Run all tests 20 times under each pressure (script/stress PKG for one package)
	script/stress

.PHONY: soak
soak: ## Run the long forms: tests with 20 times the iterations, fuzz tests for a minute each
	REMORA_ITERATIONS=20 script/test -timeout 4h
	CGO_ENABLED=1 REMORA_ITERATIONS=5 script/test -race -timeout 4h
	FUZZTIME=1m script/fuzz
	script/deps rdma
	REMORA_ROCEVM=1 $(GO) test -count=1 -timeout 1h -v -run 'OneGuest|CountingGuest' ./test/rocevm

.PHONY: mutants
mutants: ## Apply known defects to a copy of the code and check that the tests fail
	script/mutants

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (5000 inputs) each
	GO=$(GO) FUZZTIME=$(FUZZTIME) script/fuzz

.PHONY: lint
lint: ## Check formatting, run go vet (also for arm64) and the linters of tools/lint
	@unformatted=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		printf 'not formatted, run make format:\n%s\n' "$$unformatted" >&2; exit 1; \
	fi
	$(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) vet $(PORTABLE)
	$(GO) -C tools build -o ../bin/lint ./lint
	CGO_ENABLED=1 bin/lint -tags rdma,wire ./...

.PHONY: format
format: ## Format all Go files
	$(TOOL) gofumpt -w .

.PHONY: deps
deps: ## Install the Debian packages that build and tests need, if missing
	script/deps

.PHONY: check
check: ## What CI runs: script/check, which does not need make to be installed
	script/check

.PHONY: clean
clean: ## Remove bin, with the logs of tests
	rm -rf bin
