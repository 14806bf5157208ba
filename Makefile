# `make help` lists the targets. Go and make are all that is needed; tools are
# pinned here or in go.mod and built from source.

ADDR              ?= 127.0.0.1:8080
CONTROLPLANE_ADDR ?= 127.0.0.1:8081
# A count: a duration races its own deadline on a busy machine (golang/go#75804).
FUZZTIME          ?= 50000x
SOAK              ?= 60s
SPEC              := openapi/control-plane.yaml
API               := cmd/controlplane/internal/api/api.gen.go
GOLANGCI_VERSION  := v2.15.0
GOLANGCI          := .tools/golangci-lint-$(GOLANGCI_VERSION)
VERSION           := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS           := -s -w -X github.com/postern-mcp/postern/gateway/command.buildVersion=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## start gateway and control plane with demo data (ADDR=, CONTROLPLANE_ADDR=)
	@mkdir -p bin
	@echo "building (the first time takes a few minutes)"
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/postern ./cmd/controlplane ./internal/demo
	@bin/demo -addr $(ADDR) -controlplane-addr $(CONTROLPLANE_ADDR)

.PHONY: test
test: ## run all tests
	go test ./...

.PHONY: build
build: ## build the binaries into bin/
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: check
check: generate-check tidy-check lint bench-short race fuzz ## everything that must be green before a commit lands

.PHONY: generate
generate: ## derive client, catalogue, contract and tool pages from the document
	go run ./cmd/postern-gen generate --spec $(SPEC)
	go generate ./cmd/controlplane/...

.PHONY: generate-check
generate-check: ## fail when a derived file is stale, missing or orphaned
	go run ./cmd/postern-gen check --spec $(SPEC)
	@mkdir -p .tools && cp $(API) .tools/api.gen.go && go generate ./cmd/controlplane/... && \
	{ cmp -s $(API) .tools/api.gen.go || { cp .tools/api.gen.go $(API); echo "stale    $(API): run make generate"; exit 1; }; }

.PHONY: tidy-check
tidy-check: ## fail when go.mod or go.sum is not tidy
	go mod tidy -diff

.PHONY: lint
lint: $(GOLANGCI) ## formatting, vet, architecture and linters
	$(GOLANGCI) run

$(GOLANGCI):
	@mkdir -p .tools
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv .tools/golangci-lint $@

.PHONY: race
race: ## run all tests under the race detector
	go test -race ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -h -o '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | cut -c6-); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1000x $$pkg || exit 1; \
	  done; \
	done

.PHONY: soak
soak: ## load a gateway in front of an API that misbehaves, and check every answer (SOAK=60s)
	go run ./internal/soak -time $(SOAK)

.PHONY: corpus
corpus: ## generate, compile and call every document of ../shared/specs, where that is
	POSTERN_CORPUS=all go test -timeout 60m -v -run 'Corpus|Wire' ./internal/corpus

.PHONY: examples
examples: ## test the example gateways, against the real backends where those are installed
	@for d in examples/*/; do (echo "== $$d" && cd $$d && go vet ./... && go test ./... && $(MAKE) --no-print-directory check) || exit 1; done

.PHONY: bench
bench: ## compare with a plain gateway on the SDK and with the bare work; fails where a bound is missed
	go run ./internal/bench

.PHONY: bench-short
bench-short: ## the same in a minute, with bounds that noise does not break
	go run ./internal/bench -short
