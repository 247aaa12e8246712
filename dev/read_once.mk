# Headers that nearly all sources include are read once: half of the tests' build time, two fifths of the programs'. Not
# beside ccache, which serves a tree of the same headers better without that. Included by the top level Makefile.

ifeq ($(VARIANT)$(findstring ccache,$(CXX)),release)
$(test_objects): READ_FLAGS := -include $(BUILD)/read_once.h -Winvalid-pch
$(test_objects): $(BUILD)/read_once.h.gch
$(BUILD)/read_once.h.gch: $(BUILD)/read_once.h
	$(call short,READ)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(test_flags_release) -x c++-header -o $@ $<
# With -O2 g++ finds faults of these kinds in the library's own code when it reads it like that; ours they find where
# ccache is, with the sanitizers and with clang.
program_objects := $(call objects,$(programs_sources) $(model_sources))
$(program_objects): READ_FLAGS := -include $(BUILD)/read_by_programs.h -Winvalid-pch \
	-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
$(program_objects): $(BUILD)/read_by_programs.h.gch
$(BUILD)/read_by_programs.h.gch: $(BUILD)/read_by_programs.h
	$(call short,READ)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -x c++-header -o $@ $<
endif
read_by_programs := algorithm array atomic charconv chrono coroutine deque functional map memory optional set span string \
	string_view unordered_map unordered_set utility variant vector fmt/format.h
$(BUILD)/read_by_programs.h: dev/read_once.mk
	@mkdir -p $(@D)
	@printf '#include <%s>\n' $(read_by_programs) > $@
# For tests and for clang.
read_once := algorithm array atomic charconv chrono coroutine filesystem fstream functional map memory optional random \
	regex set string string_view thread variant vector fmt/format.h gmock/gmock.h gtest/gtest.h
$(BUILD)/read_once.h: dev/read_once.mk
	@mkdir -p $(@D)
	@printf '#include <%s>\n' $(read_once) > $@
