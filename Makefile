# Bare `make` lists the targets. `make check` is what CI runs.

GO      ?= go
TOOL     = $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 10s

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/remora, a static binary without C, optimized by a profile (script/pgo)
	CGO_ENABLED=0 $(GO) build -pgo=cmd/remora/remora.pgo -trimpath -o bin/remora ./cmd/remora

.PHONY: rdma
rdma: ## Build bin/remora with the verbs provider (needs script/rdma-deps)
	CGO_ENABLED=1 $(GO) build -tags rdma -pgo=cmd/remora/remora.pgo -trimpath -o bin/remora ./cmd/remora

ROCEVM = $(GO) run ./internal/rocevm/cmd/rocevm

.PHONY: test-rdma
test-rdma: ## Run verbs and the paths on real kernel verbs: Soft-RoCE in one guest and in two
	script/rdma-deps
	$(ROCEVM) test -timeout 20m ./fabric/verbs ./rpc/rfp ./rpc/herd ./rpc/sendrecv ./rpc/onesided ./kvl/keli
	$(ROCEVM) test -timeout 10m -run 'History|Hammer' ./server
	$(ROCEVM) test -guests 2 -timeout 10m -tags rdma,wire -run TestWire ./fabric/verbs ./rpc/rfp ./rpc/herd ./rpc/sendrecv
	REMORA_ROCEVM=1 $(GO) test -count=1 -timeout 20m -v -run 'Guest|Cancelled' ./internal/rocevm

.PHONY: test
test: ## Run all tests
	$(GO) test -timeout 30m ./...

.PHONY: race
race: ## Run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 40m ./...

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (10s) each
	GO=$(GO) FUZZTIME=$(FUZZTIME) script/fuzz

.PHONY: lint
lint: ## Check formatting, vet (also for arm64 and with the tag rdma), run golangci-lint
	@unformatted=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		printf 'not formatted, run make format:\n%s\n' "$$unformatted" >&2; exit 1; \
	fi
	$(GO) vet ./...
	GOOS=linux GOARCH=arm64 $(GO) vet ./...
	CGO_ENABLED=1 $(GO) vet -tags rdma,wire ./...
	$(TOOL) golangci-lint run ./...
	CGO_ENABLED=1 $(TOOL) golangci-lint run --build-tags rdma,wire ./fabric/... ./rpc/rfp/... ./rpc/herd/... ./rpc/sendrecv/... ./rpc/onesided/... ./server/... ./internal/doctor/... ./cmd/...

.PHONY: format
format: ## Format all Go files
	$(TOOL) gofumpt -w .

.PHONY: deps
deps: ## Install the Debian packages that build and tests need, if missing
	script/deps

.PHONY: check
check: ## What CI runs: deps, lint, test, race, fuzz, test-rdma, each with its time
	@script/stages deps lint test race fuzz test-rdma

.PHONY: clean
clean: ## Remove what build made
	rm -rf bin
