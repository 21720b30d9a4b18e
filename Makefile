# Everything that is done with Windlass, on a fresh Debian 12 as root.
SHELL := /bin/bash
CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: tools book-tools docs help demo test setup build lint check claims soak faults bench bench-recorder fuzz clean reproduce-tcon reproduce-grid reproduce-guest \
        packages test-packages test-guest sbom image compete compete-box priors conformance conformance-paths reproduce-guard reproduce-acdc reproduce-compound reproduce-mystique

help:
	@echo 'make demo    a download through Windlass beside native CUBIC and native BBR (about six minutes)'
	@echo 'make test    formatting, lints, all tests, fuzz corpora (needs root for the network tests)'
	@echo 'make docs    the manual as a book, in out/docs/html; a broken link fails'
	@echo 'make packages    .deb and .rpm of windlass and windlass-lab, and what they are made of (SBOM), in out/packages'
	@echo 'make test-packages   the packages installed, upgraded, removed and purged, over a copy of this machine (needs root)'
	@echo 'make test-guest      the package in a Debian with systemd that is started for it (needs root and QEMU; minutes)'
	@echo 'make image       a container image (needs buildah or podman)'
	@echo 'make bench   ns a packet, bytes a flow, forwarding rate: the tables of docs/performance.md'
	@echo 'make bench-recorder  rate and processor time with the flight recorder, beside those without (needs root; ten minutes)'
	@echo 'make claims  figures of the manual, beside what the simulator says now (ten minutes)'
	@echo 'make soak    110,000 simulated networks and the 1 GB transfers, and an hour of random faults (an hour and a half)'
	@echo 'make faults  floods and faults, the box beside the bridge (needs root; twenty minutes)'
	@echo 'make compete     every algorithm beside its kind, CUBIC and BBR, and over unequal ways (minutes)'
	@echo 'make compete-box the same through the box, beside the kernel'"'"'s CUBIC and BBR (needs QEMU; half an hour)'
	@echo 'make priors      what algorithm = "auto" assumes of each algorithm before it knows (minutes)'
	@echo 'make conformance each algorithm beside the kernel module of its name (needs QEMU; an hour)'
	@echo 'make reproduce-tcon  the figures of the TCon paper, beside its numbers (needs root; three quarters of an hour)'
	@echo 'make reproduce-acdc  the figures of the AC/DC paper, beside its numbers (needs QEMU and root; an hour)'
	@echo 'make reproduce-compound  Compound TCP reproduced, beside the numbers (needs QEMU and root; two hours)'
	@echo 'make reproduce-mystique  algorithms chosen by rules and by experience, on the paths of the Mystique paper (needs QEMU and root; two hours)'
	@echo 'make reproduce-grid  150 paths, nine contestants: the grid, and the paths beside it (hours)'
	@echo 'make fuzz    five minutes of each fuzz target (needs the nightly toolchain)'

# What Debian must have installed; skipped where it all is.
DEBIAN = build-essential ca-certificates clang llvm libbpf-dev linux-libc-dev pkg-config curl \
         iproute2 ethtool iputils-ping iperf3 procps qemu-system-x86 busybox-static \
         openvswitch-switch lld openssl
# To compile a plugin in Rust for the tests; not with rustup's target there, whose packages exclude Debian's.
DEBIAN_WASM = rustc libstd-rust-dev-wasm32

setup:
	@missing=$$(for p in $(DEBIAN); do \
	    dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$${missing// /}" ]; then \
	    echo "installing: $$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi
	@command -v $(CARGO) >/dev/null || { \
	    echo 'installing: rustup'; \
	    apt-get install -y -qq rustup >/dev/null 2>&1 || { echo 'No cargo: install Rust 1.95 (rustup), then again.'; exit 1; }; }

# What was built last: windlass, windlass-lab and windlass-transfer.
RELEASE = $${CARGO_TARGET_DIR:-target}/release

BUILD = $(CARGO) build --release --locked -p windlass-cli -p windlass-lab

build: setup
	$(BUILD) -p windlass-transfer

# The demonstration needs neither plugins nor QUIC: without them, the first build takes a third of the time. What `make build`
# has built is used as it is, and stays.
demo: setup
	@if [ -x "$(RELEASE)/windlass-transfer" ]; then $(BUILD) -p windlass-transfer; else $(BUILD) --no-default-features; fi
	"$(RELEASE)"/windlass demo $(DEMO)

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

test: lint
	@ls "$$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" >/dev/null 2>&1 \
	    || dpkg-query -W $(DEBIAN_WASM) >/dev/null 2>&1 || { echo 'installing: $(DEBIAN_WASM)'; apt-get update -qq; \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(DEBIAN_WASM) >/dev/null; } \
	    || echo 'no Rust for wasm32-unknown-unknown: the test of the plugin in Rust is skipped'
	$(CARGO) test --workspace --locked

# Figures of the manual that the simulator makes: lab/backends/tests/claims/claims.toml.
claims: setup
	WINDLASS_CLAIMS=$(or $(CLAIMS),1) $(CARGO) test --release --locked -p windlass-lab --test claims -- --nocapture

# The long runs: the claims; 10,000 adverse networks, 100,000 with an adversary; packetdrill's scripts (where PACKETDRILL_SRC names a
# checkout of it); 1 GB each way through the box, killed in mid-transfer; downloads by HTTPS over a path that damages packets.
soak: build
	$(MAKE) claims CLAIMS=all
	tools/packetdrill --windlass "$$(realpath "$(RELEASE)")/windlass" --jobs 2
	WINDLASS_SEEDS=10000 $(CARGO) test --release --locked -p windlass-sim --test adverse --test check_engine
	WINDLASS_SEEDS=100000 $(CARGO) test --release --locked -p windlass-sim --test adversary
	WINDLASS_BIN="$$(realpath "$(RELEASE)")/windlass" WINDLASS_SOAK_BYTES=1000000000 \
	    $(CARGO) test --release --locked -p windlass-lab --test soak -- --nocapture --test-threads 6
	WINDLASS_BIN="$$(realpath "$(RELEASE)")/windlass" WINDLASS_DOWNLOADS=30 \
	    $(CARGO) test --release --locked -p windlass-lab --test damaged -- --nocapture
	WINDLASS_BIN="$$(realpath "$(RELEASE)")/windlass" WINDLASS_FAULTS_S=3600 \
	    $(CARGO) test --release --locked -p windlass-lab --test faults -- --nocapture random_faults

# Floods, and a box that stands still, starves or dies, beside the plain bridge.
faults: build
	@mkdir -p "$(REPORTS)/faults"
	WINDLASS_BIN="$$(realpath "$(RELEASE)")/windlass" WINDLASS_FAULTS=full \
	    WINDLASS_FAULTS_REPORT="$$(realpath "$(REPORTS)/faults")" \
	    $(CARGO) test --release --locked -p windlass-lab --test faults -- --nocapture --test-threads 1
	cp "$(REPORTS)/faults/faults.md" docs/faults.md

bench: build
	$(CARGO) bench --locked -p windlass-wire -p windlass-cc -p windlass-plugin
	$(CARGO) bench --locked -p windlass-sim --bench engine
	$(CARGO) build --release --locked -p windlass-io --examples
	$(CARGO) bench --locked -p windlass-lab --bench forwarding
	BENCH_CHECK=1 $(CARGO) bench --locked -p windlass-transfer --bench cpu

# The box with the flight recorder and without, in turns: docs/recorder.md, "What it costs".
bench-recorder: build
	BENCH_ONLY='windlass, bbr' BENCH_FLOWS=$${BENCH_FLOWS:-8} BENCH_RUNS=$${BENCH_RUNS:-40} BENCH_SECONDS=$${BENCH_SECONDS:-4} \
	    $(CARGO) bench --locked -p windlass-lab --bench forwarding

# Tools that make packages, by name and version; installed where they are not.
TOOLS = cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9

# Those that make the book of docs.
BOOK_TOOLS = mdbook@0.5.4 mdbook-linkcheck2@0.13.0

# $(1): what of them has to be there.
install_tools = @for tool in $(1); do command -v $${tool%@*} >/dev/null || $(CARGO) install --locked $$tool || exit 1; done

tools: setup
	$(call install_tools,$(TOOLS))

book-tools: setup
	$(call install_tools,$(BOOK_TOOLS))

# The checker of links knows files, and the test knows headings, too.
docs: book-tools
	tools/book
	WINDLASS_BOOK=out/book/src $(CARGO) test --locked -q -p windlass-terminal --test documents
	mdbook build out/book
	@echo 'the manual: out/docs/html/index.html'

# PROGRAMS: the folder of the programs that are packed; `make packages PROGRAMS=target/debug` packs those that are there.
PROGRAMS ?=
packages: tools $(if $(PROGRAMS),,build)
	packaging/stage "$(or $(PROGRAMS),$(RELEASE))"
	@for package in windlass-cli windlass-lab; do \
	    $(CARGO) deb --no-build --no-strip -p $$package -o out/packages/ || exit 1; done
	@for folder in box/cli lab/backends; do $(CARGO) generate-rpm -p $$folder -o out/packages/ || exit 1; done
	@$(MAKE) --no-print-directory sbom
	@ls -l out/packages/*.deb out/packages/*.rpm out/packages/*.cdx.json

# Both make the packages where there are none, and say "skipped: REASON" where they cannot run.
PACKAGES_THERE = $(wildcard out/packages/windlass_*.deb)

test-packages: $(if $(PACKAGES_THERE),,packages)
	packaging/test-packages

# A guest starts from the kernel that the laboratory fetches; KERNEL=FOLDER names another.
test-guest: $(if $(PACKAGES_THERE),,packages)
	packaging/test-guest

# What each program is made of: CycloneDX.
sbom: tools
	packaging/sbom out/packages

# The container image windlass, from the package: make packages comes first.
image:
	@builder=$$(command -v buildah || command -v podman) || { echo 'no buildah and no podman: apt-get install buildah'; exit 1; }; \
	case $$builder in *buildah) verb=bud;; *) verb=build;; esac; \
	$$builder $$verb -t windlass -f packaging/Containerfile .

# FUZZ='-s none' leaves the address sanitizer out, and is several times as fast; FUZZ_S is the time of each target.
FUZZ ?=
FUZZ_S ?= 300
fuzz: setup
	@command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz --version 0.13.2 --locked
	cd fuzz && for target in wire_parse engine_packets three_parties; do \
	    mkdir -p found/$$target; \
	    $(CARGO) +nightly fuzz run $(FUZZ) $$target found/$$target corpus/$$target -- -max_total_time=$(FUZZ_S) -timeout=10 || exit 1; done

# Where the reports of experiments go: a folder for each, with report.html, results.json and CSV.
REPORTS ?= $${CARGO_TARGET_DIR:-target}/reports

# An experiment whose checks fail does not keep the next one from running; all are told at the end.
define run_experiments
	@failed=; for name in $(1); do \
	    "$(RELEASE)"/windlass-lab run experiments/$$name.toml \
	        --json "$(REPORTS)/$$name/results.json" --report "$(REPORTS)/$$name" || failed="$$failed $$name"; \
	done; \
	papers=$$(for name in $(1); do ls "$(REPORTS)/$$name/paper.md" 2>/dev/null; done); \
	[ -z "$$papers" ] || cat $$papers > "$(REPORTS)/paper.md"; \
	echo "reports: $(REPORTS)"; \
	[ -z "$$failed" ] || { echo "not as it should be:$$failed"; exit 1; }
endef

# All in the simulator, and Figure 7b on this machine's kernel as well.
reproduce-tcon: build
	$(call run_experiments,tcon-fig4 tcon-table2 tcon-fig5 tcon-fig6 tcon-fig7a tcon-held tcon-connections tcon-fig7b)
	@echo "beside the paper's numbers: $(REPORTS)/paper.md"

# Table 1 in a guest in virtual time, processor time on this machine's kernel, the rest in the simulator.
reproduce-acdc: build
	$(call run_experiments,acdc-table1 acdc-table1-dc acdc-dc acdc-scale acdc-netns acdc-netns-shapes acdc-join-leave acdc-window acdc-incast acdc-fairness acdc-parking-lot acdc-priority acdc-stride acdc-stride-dc acdc-traces acdc-cpu acdc-cpu-rate)
	@echo "beside the paper's numbers: $(REPORTS)/paper.md"

# Full scale in the simulator; a fifth of it with Linux in a guest, and over QUIC on this machine's kernel.
reproduce-compound: build
	$(call run_experiments,compound-table1 compound-replay compound-sender compound-fig3 compound-response compound-fig4-5 compound-fairness compound-rtt-fairness \
	    compound-routers compound-kernel compound-quic compound-fig3-quic)
	WINDLASS_BIN="$$(realpath "$(RELEASE)")/windlass" WINDLASS_ROUTERS_S=60 \
	    $(CARGO) test --release --locked -p windlass-lab --test routers -- --nocapture
	@echo "beside the paper's numbers: $(REPORTS)/paper.md"

reproduce-mystique: build
	$(call run_experiments,mystique-fig1 mystique-fig2 mystique-fig2-kernel mystique-fig3 mystique-fig4 mystique-fig5 mystique-switch mystique-sweep)

# The tables of the manual that stand beside the kernel's own algorithms, in a guest in virtual time: hours on two cores.
reproduce-guest: build
	for name in tcon-fig4 mystique-fig1 mystique-fig3 mystique-fig4 grid rough page headroom; do \
	    "$(RELEASE)"/windlass-lab run "experiments/$$name.toml" --backend vm \
	        --json "$(REPORTS)/guest/$$name.json" --report "$(REPORTS)/guest/$$name" || failed="$$failed $$name"; \
	done; \
	[ -z "$$failed" ] || { echo "not as it should be:$$failed"; exit 1; }

# The guard beside an algorithm with a hidden fault, which is a plugin.
reproduce-guard: build
	mkdir -p "$(REPORTS)/guard/plugins"
	clang --target=wasm32 -O2 -ffreestanding -nostdlib -Wall -Wl,--no-entry -Wl,-zstack-size=16384 -I sdk/c \
	    -o "$(REPORTS)/guard/plugins/short_window.wasm" experiments/guard/short_window.c
	WINDLASS_PLUGINS="$(REPORTS)/guard/plugins" "$(RELEASE)"/windlass-lab run experiments/guard/guard.toml \
	    --json "$(REPORTS)/guard/results.json" --report "$(REPORTS)/guard"

reproduce-grid: build
	$(call run_experiments,grid rough rough-long rough-auto headroom middle page crowd mixed adverse sharing copies-cost sizes)

# In the simulator; the page in docs is what it says on any machine.
compete: build
	$(call run_experiments,compete)
	cp "$(REPORTS)/compete/findings.md" docs/compete.md

# In the simulator: what algorithm = "auto" assumes before it knows.
priors: build
	$(call run_experiments,priors)
	awk -F, -f experiments/priors.awk "$(REPORTS)/priors/rows.csv" > core/policy/src/priors/measured.rs

# In the guest: governed flows beside those of its kernel.
compete-box: build
	$(call run_experiments,compete-box)
	cp "$(REPORTS)/compete-box/findings.md" docs/compete-box.md

# Published vectors and laws, then each algorithm beside the kernel's, in a guest; at the end, one table of all.
conformance: build
	@mkdir -p "$(REPORTS)"
	@CARGO_TERM_COLOR=never $(CARGO) test --locked --no-fail-fast -p windlass-cc > "$(REPORTS)/vectors.txt" 2>&1 \
	    || grep 'FAILED' "$(REPORTS)/vectors.txt" || true
	@$(MAKE) --no-print-directory conformance-paths || failed=1; \
	findings=$$(ls "$(REPORTS)"/conformance{-law,,-dctcp}/findings.md); \
	algorithms=$$("$(RELEASE)"/windlass algorithm list | awk '/^[a-z]/ { print $$1 }'); \
	awk -v algorithms="$$(echo $$algorithms)" -f experiments/conformance.awk "$(REPORTS)/vectors.txt" $$findings | tee "$(REPORTS)/conformance.md"; \
	cat "$(REPORTS)/conformance.md" $$findings > docs/conformance.md; \
	[ -z "$$failed" ] && ! grep -q FAILED "$(REPORTS)/vectors.txt"

conformance-paths:
	$(call run_experiments,conformance-law conformance conformance-dctcp)

clean:
	$(CARGO) clean
