# make check and make check-long: format, style, scripts, and what analyzers and clang say. Included by the top level
# Makefile, whose lists of sources it reads; it changes none of them.

# Formatting is judged by clang-format 14 alone, as .clang-format says: other versions format differently. Debian 13
# has no such version, so there the step is skipped.
clang_format := clang-format-14
# The newest of those that are known to work.
clang_tidy := $(firstword $(foreach version,19 18 17 16 15 14,$(shell command -v clang-tidy-$(version))) clang-tidy)

# Short enough to be run by itself behind `make test` (.ci/run).
check: ## format, style, scripts, cppcheck, what clang says; clang-tidy over what changed since TIDY_SINCE
	@$(stack)/install-packages build test check
	if command -v $(clang_format); then $(clang_format) --dry-run -Werror $$(git ls-files '*.cpp' '*.h'); \
	  else echo "SKIPPED: $(clang_format) judges the format and is not installed here; Debian 12 has it"; fi
	shellcheck -x $(shell_scripts)
	/usr/bin/python3 -m pyflakes $(sort $(python_scripts))
	+@$(MAKE) --no-print-directory $(parallel) VARIANT=release style cppcheck tidy-changed
	+@$(MAKE) --no-print-directory $(parallel) VARIANT=clang syntax

check-long: check ## the same, with clang-tidy over everything and a whole build with clang; half an hour more
	+@$(MAKE) --no-print-directory $(parallel) VARIANT=release tidy
	+@$(MAKE) --no-print-directory $(parallel) VARIANT=clang syntax-tests build

# Checks a source with clang and writes no object: all of its warnings are known before code is made.
clang_syntax = $(CXX_clang) $(CPPFLAGS) -std=c++20 -pthread $(WARNINGS)
.PHONY: syntax syntax-tests
syntax: $(patsubst %.cpp,$(BUILD)/syntax/%.ok,$(programs_sources))
syntax-tests: $(patsubst %.cpp,$(BUILD)/syntax/%.ok,$(tests_sources))
$(BUILD)/read_once.pch: $(BUILD)/read_once.h
	$(call short,READ)$(clang_syntax) -x c++-header -o $@ $<
$(BUILD)/syntax/%.ok: %.cpp $(BUILD)/read_once.pch | $(generated) $(schema) $(openapi) $(mail_templates)
	@mkdir -p $(@D)
	$(call short,READ)$(clang_syntax) -include-pch $(BUILD)/read_once.pch -MMD -MP -MF $(@:.ok=.d) -MT $@ -fsyntax-only $<
	@touch $@

# False findings are listed with their reasons in the file of suppressions.
.PHONY: style cppcheck
style: $(BUILD)/style_test
	$< --gtest_brief=1
cppcheck: | $(generated) $(openapi) $(mail_templates)
	cppcheck --quiet --std=c++20 --language=c++ --enable=warning,performance,portability --error-exitcode=1 \
	  --suppressions-list=tests/style/cppcheck_suppressions.txt --suppress=missingIncludeSystem \
	  -j$(shell nproc) -I. -I$(BUILD)/generated '-DHOSTLER_VERSION="$(VERSION)"' lib fcgi runner sse-relay ctl

# clang-tidy over the programs' sources, each once until it changes. Ten seconds a file, so `make check` looks at what
# the newest commits changed, and at so many of that at most.
TIDY_SINCE ?= HEAD~1
TIDY_MAX   ?= 30
changed_sources := $(if $(filter tidy-changed,$(MAKECMDGOALS)),$(filter $(programs_sources),\
	$(shell git diff --name-only --diff-filter=d $(TIDY_SINCE) 2>/dev/null)))
tidied = $(patsubst %.cpp,$(BUILD)/tidy/%.ok,$(1))
.PHONY: tidy tidy-changed
tidy: $(call tidied,$(programs_sources))
tidy-changed: $(call tidied,$(wordlist 1,$(TIDY_MAX),$(changed_sources)))
	@echo "  TIDY $(words $^) of $(words $(changed_sources)) sources changed since $(TIDY_SINCE); make check-long: all"
$(BUILD)/tidy/%.ok: %.cpp .clang-tidy | $(generated) $(schema) $(openapi) $(mail_templates)
	@mkdir -p $(@D)
	$(call short,TIDY)$(clang_tidy) --quiet $< -- -std=c++20 $(clang_steps) $(CPPFLAGS) 2>/dev/null
	@touch $@
