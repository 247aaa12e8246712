# Hostler: every verb. Plain `make` prints them.
#
# VARIANT chooses the build: release (default), asan (address and undefined-behaviour sanitizers), tsan (thread
# sanitizer), clang, fuzz (clang, libFuzzer, those sanitizers, and coverage).
# PORT (8443) and VAR (./var) choose the private stack that up, down, forget and demo act on.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VARIANT ?= release
PORT    ?= 8443
VAR     ?= $(CURDIR)/var
PREFIX  ?= /usr
DESTDIR ?=
UNITDIR ?= $(PREFIX)/lib/systemd/system
DOCUMENTS ?= README.md NEWS.md ARCHITECTURE.md SECURITY.md LICENSE
VERSION := 0.1.0

BUILD := build/$(VARIANT)

# ---------------------------------------------------------------- compilers and flags

CXX_release := g++
CXX_asan    := g++
CXX_tsan    := g++
# The checks of the route table take more steps than clang allows by itself.
clang_steps := -fconstexpr-steps=16777216
CXX_clang   := clang++ $(clang_steps)
CXX_fuzz    := clang++ $(clang_steps)
CXX := $(if $(shell command -v ccache 2>/dev/null),ccache )$(CXX_$(VARIANT))

# g++ 12 reports members of moved-from variants as maybe uninitialized; the sanitizers look for the real thing.
WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 -Wimplicit-fallthrough -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror \
	$(if $(filter clang fuzz,$(VARIANT)),,-Wno-maybe-uninitialized)
# Guards of jumps differ by architecture: those of x86 are refused elsewhere. For others than x86 and arm64: none.
machine := $(shell $(CXX_$(VARIANT)) -dumpmachine 2>/dev/null)
jump_guards := $(if $(filter x86_64-% i386-% i486-% i586-% i686-%,$(machine)),-fcf-protection=full,$(if \
	$(filter aarch64-%,$(machine)),-mbranch-protection=standard))
HARDENING := -fstack-protector-strong -fstack-clash-protection $(jump_guards) -D_GLIBCXX_ASSERTIONS \
	-ftrivial-auto-var-init=zero -fPIE
OPT_release := -O2 -g1 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
OPT_clang   := -O1 -g1
# clang 14 zeroes locals only with a further flag, which later ones do not need and clang 19 refuses: it is given
# where zeroing fails without it.
zeroing := -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang
clang_zeroing := $(if $(filter clang fuzz,$(VARIANT)),$(shell echo | $(CXX_$(VARIANT)) -x c++ -fsyntax-only \
	-ftrivial-auto-var-init=zero - 2>/dev/null || echo $(zeroing)))
OPT_clang   += $(clang_zeroing)
# With the sanitizers on, g++ 12 finds uninitialized temporaries inside libfmt.
OPT_asan    := -Wno-uninitialized -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LINK_asan   := -fsanitize=address,undefined
# The thread sanitizer does not follow the fences of atomics; g++ 12 warns of each.
OPT_tsan    := -Wno-tsan -Wno-uninitialized -O1 -g -fno-omit-frame-pointer -fsanitize=thread
LINK_tsan   := -fsanitize=thread
OPT_fuzz    := -O1 -gline-tables-only -fno-omit-frame-pointer $(clang_zeroing)
LINK_fuzz   := -fsanitize=fuzzer,address,undefined -fprofile-instr-generate
LINK_hardening := -pie -Wl,-z,relro,-z,now,-z,noexecstack

PACKAGES := libpq libuv libcurl libsodium libfido2 fmt openssl libxml-2.0 libmaxminddb re2 zlib libidn2 icu-i18n icu-uc
# Decoders of strangers' files: of hostler-files alone, whose processes live in a sandbox.
FILES_PACKAGES := vips libmagic libseccomp
FILES_LIBS := $(shell pkg-config --libs $(FILES_PACKAGES) 2>/dev/null)
CPPFLAGS := -I. -I$(BUILD)/generated $(addprefix -isystem ,$(sort $(patsubst -I%,%,$(shell pkg-config --cflags-only-I $(PACKAGES) 2>/dev/null)))) \
	-DHOSTLER_VERSION='"$(VERSION)"' $(EXTRA_CPPFLAGS)
CXXFLAGS := -std=c++20 -pthread $(WARNINGS) $(HARDENING) $(OPT_$(VARIANT)) -MMD -MP $(EXTRA_CXXFLAGS)
LDFLAGS  := -pthread $(LINK_hardening) $(LINK_$(VARIANT)) $(if $(shell command -v mold 2>/dev/null),-B/usr/libexec/mold) $(EXTRA_LDFLAGS)
LDLIBS   := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)

# ---------------------------------------------------------------- sources

lib_sources     := $(wildcard lib/*.cpp lib/*/*.cpp)
api_sources     := $(wildcard fcgi/*.cpp fcgi/*/*.cpp fcgi/*/*/*.cpp)
runner_sources  := $(wildcard runner/*.cpp runner/*/*.cpp sse-relay/*.cpp)
ctl_sources     := $(wildcard ctl/*.cpp)
files_sources   := $(wildcard files/*.cpp)
model_sources   := $(wildcard dev/fake-model/*.cpp)
programs_sources := $(lib_sources) $(api_sources) $(runner_sources) $(ctl_sources) $(files_sources)
support_sources := $(wildcard tests/support/*.cpp $(patsubst %,tests/support/%/*.cpp,rigs clients peers rows))
# Readers of bytes from outside, the sources they need beside lib, and the targets that try them.
parsers := $(shell sed '/^\#/d' tests/fuzz/parsers)
fuzzed_sources := $(filter-out lib/%,$(parsers)) runner/tools/tool_provider.cpp runner/access_log/geo_lookup.cpp
fuzz_targets   := $(wildcard tests/fuzz/*_fuzz.cpp tests/fuzz/*/*_fuzz.cpp)

tests_sources  := $(support_sources) $(fuzz_targets) $(model_sources) $(wildcard tests/*/*_test.cpp tests/*/*/*_test.cpp)

objects = $(patsubst %.cpp,$(BUILD)/%.o,$(1))

lib_archive := $(BUILD)/libhostler.a
programs := $(BUILD)/hostler-api $(BUILD)/hostler-runner $(BUILD)/hostler-files $(BUILD)/hostlerctl
tools    := $(BUILD)/fake-model
test_kinds := unit style sql api system
tests    := $(foreach kind,$(test_kinds),$(if $(wildcard tests/$(kind)/*_test.cpp tests/$(kind)/*/*_test.cpp),$(BUILD)/$(kind)_test))

generated := $(BUILD)/generated/queries/all.h
schema    := $(BUILD)/generated/embedded_schema.h
openapi   := $(BUILD)/generated/openapi_json.h
mail_templates := $(BUILD)/generated/mail_templates.h

# ---------------------------------------------------------------- help

.PHONY: help
help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- build

# One short line a step; V=1 shows the commands.
short = $(if $(V),,@printf '  %-4s %s\n' $(1) $@ && )

.PHONY: build programs
build: $(programs) $(tools) $(tests) ## everything, warnings are errors
programs: $(programs) $(tools)
	@:

$(generated): sql/embed_queries.py sql/VERSION $(wildcard sql/queries/*.sql)
	@mkdir -p $(@D)
	$(call short,SQL)sql/embed_queries.py $(BUILD)/generated

# Its other outputs, each written only when it changes: make looks again at a target with a recipe, even an empty one.
$(patsubst sql/%.sql,$(BUILD)/generated/%.h,$(wildcard sql/queries/*.sql)) $(BUILD)/generated/schema_version.h: $(generated) ;

$(schema): sql/embed_schema.sh sql/VERSION sql/schema/order $(wildcard sql/schema/*.sql sql/migrations/*.sql)
	@mkdir -p $(@D)
	$(call short,SQL)sql/embed_schema.sh $@

# The published contract: written as YAML, served as JSON. Debian's own Python has python3-yaml.
$(openapi): docs/openapi.yaml docs/openapi_to_json.py
	@mkdir -p $(@D)
	$(call short,JSON)/usr/bin/python3 docs/openapi_to_json.py $< $(@D)/openapi.json $@

$(mail_templates): templates/embed.sh $(wildcard templates/*.txt templates/*.html)
	@mkdir -p $(@D)
	$(call short,MAIL)templates/embed.sh $@

$(BUILD)/%.o: %.cpp | $(generated) $(schema) $(openapi) $(mail_templates)
	@mkdir -p $(@D)
	$(call short,C++)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(TEST_FLAGS) $(READ_FLAGS) $(if $(filter fuzz,$(VARIANT)),$(FUZZ_FLAGS)) -c -o $@ $<

$(lib_archive): $(call objects,$(lib_sources))
	@mkdir -p $(@D)
	@rm -f $@
	$(call short,AR)ar qcs $@ $^

$(BUILD)/hostler-api: $(call objects,$(api_sources)) $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lfcgi

$(BUILD)/hostler-runner: $(call objects,$(runner_sources)) $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/hostlerctl: $(call objects,$(ctl_sources)) $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(call objects,$(files_sources)): CPPFLAGS += $(addprefix -isystem ,$(sort $(patsubst -I%,%,$(shell \
	pkg-config --cflags-only-I $(FILES_PACKAGES) 2>/dev/null))))
$(BUILD)/hostler-files: $(call objects,$(files_sources)) $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(FILES_LIBS) $(LDLIBS)

$(BUILD)/fake-model: $(call objects,$(model_sources))
$(BUILD)/schema-verdicts: $(call objects,tests/clients/schema_verdicts.cpp)
$(BUILD)/fake-model $(BUILD)/schema-verdicts: $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $< $(LDLIBS)

# clang 14 cannot assemble coroutines with any of these, so what awaits goes without.
awaiting := $(shell grep -lE 'co_(await|return|yield)' $(lib_sources))
$(call objects,$(filter-out $(awaiting),$(lib_sources)) $(parsers) $(fuzz_targets) tests/fuzz/fuzzer.cpp): \
	FUZZ_FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all
# The fuzzer steers by the parsers, and coverage counts them.
$(call objects,$(parsers)): FUZZ_FLAGS += -fsanitize=fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping
# RapidJSON adds to a null pointer before its first allocation.
$(BUILD)/lib/json.o: FUZZ_FLAGS += -fno-sanitize=pointer-overflow
# Only the parts of the archive that the targets call are linked.
$(BUILD)/libfuzzed.a: $(call objects,$(fuzzed_sources))
	@rm -f $@
	$(call short,AR)ar qcs $@ $^
$(BUILD)/fuzzer: $(call objects,tests/fuzz/fuzzer.cpp $(fuzz_targets)) $(BUILD)/libfuzzed.a $(lib_archive)
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lfcgi

# Nobody waits for tests to run fast, but everybody for them to build: a sixth less without optimizing.
test_flags_release := -O0 -g0 -U_FORTIFY_SOURCE
test_objects := $(call objects,$(filter-out $(model_sources),$(tests_sources)))
$(test_objects): TEST_FLAGS := $(or $(test_flags_$(VARIANT)),-O1)
include dev/read_once.mk
# One test program a kind. Unit tests may look inside the programs: they link everything but the mains.
$(BUILD)/unit_test: $(call objects,$(filter-out %/main.cpp,$(api_sources) $(runner_sources) $(ctl_sources) $(files_sources) $(model_sources)))
$(BUILD)/unit_test: LDLIBS += $(FILES_LIBS)
$(foreach kind,$(test_kinds),$(eval $(BUILD)/$(kind)_test: $(call objects,$(wildcard tests/$(kind)/*_test.cpp tests/$(kind)/*/*_test.cpp)) $(call objects,$(support_sources)) $(lib_archive)))
# Tests of the schema read it like hostlerctl, tests of columns make JSON of them like the pool.
$(BUILD)/sql_test: $(call objects,ctl/schema.cpp runner/agent/round_robin.cpp fcgi/http/items.cpp)
# They also try the inputs that the fuzzers keep.
$(BUILD)/unit_test: $(call objects,$(fuzz_targets))
# Test databases are made by the real hostlerctl.
$(BUILD)/unit_test $(BUILD)/sql_test $(BUILD)/api_test $(BUILD)/system_test: | $(BUILD)/hostlerctl
# Preloaded by tests whose programs' clock jumps; never sanitized.
$(BUILD)/stepped-clock.so: tests/support/clock/stepped_clock.cpp
	@mkdir -p $(@D)
	$(call short,C++)$(CXX) -std=c++20 -O1 -Wall -Wextra -Werror -fPIC -shared -o $@ $<
$(BUILD)/system_test: | $(BUILD)/stepped-clock.so
# It asks hostler-api for its routes, the programs for their metrics, hostlerctl for its commands.
$(BUILD)/style_test: | $(BUILD)/hostler-api $(BUILD)/hostler-runner $(BUILD)/hostlerctl
$(BUILD)/%_test:
	$(call short,LINK)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(lib_archive) $(LDLIBS) -lfcgi -lgmock -lgtest -lgtest_main

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---------------------------------------------------------------- the console

# Its packages come from npm as the lock says; without npm or a registry there is no console, and all else is as it was.
console_tools := build/console_tools
.PHONY: console
console: ## the console for browsers, in build/console; needs npm, and says so where there is none
	@console/build.sh build/console $(console_tools)

.PHONY: console-test console-pictures console-sheets
console-test: ## the console in Debian's Chromium against a private stack; skips loudly what npm cannot get
	@$(stack)/install-packages build run console
	+@$(MAKE) --no-print-directory $(parallel) programs console
	@CONSOLE_KILLS=20 BUILD_DIR='$(CURDIR)/$(BUILD)' tests/console/run

console-pictures: ## write the pictures of docs/console.md anew
	@$(stack)/install-packages build run console
	+@$(MAKE) --no-print-directory $(parallel) programs console
	@BUILD_DIR='$(CURDIR)/$(BUILD)' CONSOLE_SCRIPT=tests/console/pictures.mjs tests/console/run

console-sheets: ## what the flows look at, at three widths and in both colours, into build/console_sheets; to be looked at
	@SHEETS='$(CURDIR)/build/console_sheets' $(MAKE) --no-print-directory console-test

# ---------------------------------------------------------------- the private stack

stack := dev/stack
# On a bare machine the needs of a target exist only after install-packages: the rest is a make of its own.
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
on_stack = $(if $(NODES),NODES='$(NODES)') PORT='$(PORT)' VAR='$(VAR)' BUILD_DIR='$(CURDIR)/$(BUILD)'

.PHONY: demo up down forget
demo: ## the whole thing on this machine: installs what is missing, builds, starts, shows an agent run; MCP=1: one with MCP
	@$(stack)/install-packages build run
	+@$(MAKE) --no-print-directory $(parallel) programs console
	@$(on_stack) MCP='$(MCP)' $(stack)/demo

up: ## the same stack, left running; PORT=8443 VAR=./var choose which; NODES=3: three daemons, two pools
	@$(stack)/install-packages build run
	+@$(MAKE) --no-print-directory $(parallel) programs
	@$(on_stack) $(stack)/up

down: ## stop that stack, all of it
	@$(on_stack) $(stack)/down

forget: ## stop it and remove all of it, with its data
	@$(on_stack) $(stack)/forget

# ---------------------------------------------------------------- tests

.PHONY: test long asan tsan abuse bench check check-long
test: ## install what is missing, build, run every test except the long ones
	+@VARIANT=$(VARIANT) tests/run

long: ## the same with the long forms of the tests that have one; a quarter of an hour more
	+@API_FUZZ_CASES=500 LEDGER_STRESS_OPERATIONS=100000 ACCESS_LOG_BURST_SECONDS=10 TWO_TENANTS_REQUESTS=100000 \
	  TEST_MINUTES_MAX=60 VARIANT=$(VARIANT) tests/run

# Which stress test is which stands in tests/faults/README.md; parameters that the environment names win.
.PHONY: faults soak
faults: ## the stress tests with faults, in 20 minutes
	+@VARIANT=$(VARIANT) tests/faults/run faults

soak: ## the same stress tests and the steady state at their full parameters: hours
	+@VARIANT=$(VARIANT) tests/faults/run soak

# Left out: what judges the programs' memory or fills a small disk with them; theirs are the sanitizers' own then.
asan: ## the same with address and undefined-behaviour sanitizers
	+@GTEST_FILTER='-SteadyState.*:LittleMemoryTest.OfTheDaemon*:WholeDiskFull.*' VARIANT=asan tests/run

# Its own memory grows with every address that is used.
tsan: ## the tests of the parts, the API and the whole stack with the thread sanitizer
	+@TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/support/tsan_suppressions.txt" ONLY="unit api system" \
	  GTEST_FILTER='-SteadyState.*' VARIANT=tsan tests/run

abuse: ## one account as bad as the API lets it be, and what its neighbours notice of it
	@$(stack)/install-packages build run
	+@$(MAKE) --no-print-directory $(parallel) programs
	@tests/abuse/run

bench: ## what requests, runs, events and streams cost here; against peers in the same run
	@$(stack)/install-packages build run bench console
	+@$(MAKE) --no-print-directory $(parallel) programs console
	@tests/bench/run

# SECONDS is the shell's own name for something else.
fuzz_seconds := $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),60)
.PHONY: fuzz
fuzz: ## libFuzzer on everything that reads bytes from outside, and what of it they reach; SECONDS=60 a target
	@$(stack)/install-packages build check fuzz
	+@$(MAKE) --no-print-directory $(parallel) VARIANT=fuzz build/fuzz/fuzzer
	@tests/fuzz/run $(fuzz_seconds) $(parsers)

.PHONY: valgrind clients-test
clients-test: ## what others wrote for clients, held against ours; skips loudly what npm cannot get
	@$(stack)/install-packages build clients
	+@$(MAKE) --no-print-directory $(parallel) $(BUILD)/schema-verdicts
	@BUILD_DIR='$(CURDIR)/$(BUILD)' tests/clients/run

valgrind: ## the tests of the API with the pool under memcheck
	@$(stack)/install-packages build run test valgrind
	+@tests/valgrind/run

shell_scripts = $(shell git ls-files | xargs grep -lE '^\#!.*\b(ba)?sh$$' 2>/dev/null) $(wildcard $(stack)/*.sh)
python_scripts = $(shell git ls-files | xargs grep -lE '^\#!.*\bpython3$$' 2>/dev/null) $(shell git ls-files '*.py')

include dev/check.mk

# ---------------------------------------------------------------- install, and whole hosts

include dev/install.mk

.PHONY: host-test
host-test: ## the package on a real Debian with systemd in a container: restarts, upgrades, purge; needs root
	@$(stack)/install-packages host deb
	+@[ -n "$(wildcard build/deb/hostler_*.deb)" ] || \
	  { $(MAKE) --no-print-directory console && $(MAKE) --no-print-directory deb; }
	@tests/host/run "$$(ls -t build/deb/hostler_*.deb | head -n 1)"

.PHONY: suite-test
suite-test: ## a bare Debian, SUITE=bookworm or trixie: packages, deb, demo, tests; needs root; an hour
	@$(stack)/install-packages suite
	@nice tests/suite/run '$(SUITE)'

.PHONY: upgrade-test
upgrade-test: ## two versions beside each other on one schema, under load, for UPGRADE_SECONDS (600)
	@$(stack)/install-packages build run
	+@$(MAKE) --no-print-directory $(parallel) programs
	@nice tests/upgrade/run

.PHONY: hosts-test
hosts-test: ## two API and three runner hosts, a primary that is lost, by hand and under Patroni; needs root
	@$(stack)/install-packages build run hosts
	+@$(MAKE) --no-print-directory $(parallel) programs
	@nice tests/hosts/run
	@tests/hosts/cluster

.PHONY: scale-test
scale-test: ## what an idle system of ten asks of Postgres, and what ten times as much costs it; needs root
	@$(stack)/install-packages build run hosts
	+@$(MAKE) --no-print-directory $(parallel) programs
	@tests/scale/run

# ---------------------------------------------------------------- documents

.PHONY: lint-api prism
lint-api: ## lint docs/openapi.yaml with Redocly's linter; skips loudly when npm cannot get it
	@tests/prism/run lint

prism: ## the api tests with Stoplight's prism as judge between client and server; skips loudly without npm
	+@$(MAKE) --no-print-directory $(parallel) programs $(BUILD)/api_test
	@TEST_BUILD=$(CURDIR)/$(BUILD) tests/prism/run api

.PHONY: schema-listing
schema-listing: ## write sql/schema.txt anew: the whole schema as Postgres tells it, a line a thing
	+@HOSTLER_SCHEMA_LISTING=write ONLY=sql GTEST_FILTER='Schema.IsTheOneThatTheTreeLists' tests/run

.PHONY: api-doc
api-doc: ## write docs/api.md anew, from docs/openapi.yaml
	/usr/bin/python3 docs/openapi_to_md.py docs/openapi.yaml docs/api.md

# ---------------------------------------------------------------- tidy up

.PHONY: clean
clean: ## remove what was built
	rm -rf build
