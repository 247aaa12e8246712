// How the programs were compiled and linked, read from the binaries by readelf: position
// independent, bound at the start and read-only from then on, no executable stack, canaries,
// checked calls, and marks for indirect branches in all of our own objects.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include <fmt/format.h>

#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

std::string readelf(const std::vector<std::string>& options, const std::string& path) {
  std::vector<std::string> command = {"/usr/bin/readelf"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(path);
  ProgramRun run = run_program(command);
  EXPECT_EQ(run.status, 0) << run.err;
  return run.out;
}

// Returns what is missing in the words of readelf about headers, segments, dynamic entries and
// symbols.
std::vector<std::string> soft_spots(const std::string& stated, bool is_sanitized) {
  struct Mark {
    const char* name;
    const char* form;  // as a regular expression
    bool is_wanted;
  };
  const Mark marks[] = {
      {"position independent", "Type: +DYN", true},
      {"said to be so", "FLAGS_1.*PIE", true},
      {"read-only relocations", "GNU_RELRO", true},
      {"bound at the start", "FLAGS.*BIND_NOW", true},
      {"a stack that is not executed", "GNU_STACK +(0x[0-9a-f]+ +){5}RW ", true},
      {"code that is not written", "TEXTREL", false},
      {"libraries of the system only", "RPATH|RUNPATH", false},
      {"stack canaries", "__stack_chk_fail", true},
      {"checked calls", "__[a-z]+_chk@", !is_sanitized},
  };
  std::vector<std::string> missing;
  for (const Mark& mark : marks) {
    bool is_unasked = is_sanitized && std::string_view(mark.name) == "checked calls";
    bool is_there = std::regex_search(stated, std::regex(mark.form));
    if (!is_unasked && is_there != mark.is_wanted) missing.emplace_back(mark.name);
  }
  return missing;
}

std::string words_about(const std::string& program) {
  return readelf({"-hldW", "--dyn-syms"}, build_folder() + "/" + program);
}

bool is_sanitized(const std::string& stated) {
  return stated.find("__asan_init") != stated.npos || stated.find("__tsan_init") != stated.npos;
}

TEST(Hardening, IsInTheProgramsAsBuilt) {
  for (const char* program : {"hostler-api", "hostler-runner", "hostlerctl"}) {
    std::string stated = words_about(program);
    EXPECT_EQ(fmt::format("{}", fmt::join(soft_spots(stated, is_sanitized(stated)), ", ")), "")
        << program;
  }
}

// Debian's start files carry no marks, so the linker drops them from the programs; ours have them.
TEST(Hardening, MarksIndirectBranchesInAllOfOurObjects) {
  std::string stated = readelf({"-nW"}, build_folder() + "/libhostler.a");
  auto count = [&](const char* words) {
    size_t found = 0;
    for (size_t at = stated.find(words); at != stated.npos; at = stated.find(words, at + 1))
      ++found;
    return found;
  };
  EXPECT_GT(count("File: "), 20U);
  EXPECT_EQ(count("File: "), count("IBT, SHSTK"));
}

TEST(Hardening, IsMissedWhereItIsMissing) {
  std::string stated = words_about("hostlerctl");
  ASSERT_TRUE(soft_spots(stated, is_sanitized(stated)).empty());
  for (const char* words : {"GNU_RELRO", "BIND_NOW", "PIE", "__stack_chk_fail", "DYN"}) {
    std::string spoilt = std::regex_replace(stated, std::regex(words), "");
    EXPECT_FALSE(soft_spots(spoilt, true).empty()) << words;
  }
  EXPECT_FALSE(soft_spots(std::regex_replace(stated, std::regex(" RW "), " RWE"), true).empty());
  EXPECT_FALSE(soft_spots(stated + "RUNPATH", true).empty());
}

}  // namespace
}  // namespace hostler::testing_support
