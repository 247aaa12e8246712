// `make faults` runs every stress test that its README names: a suite that its filter leaves out
// would be shown by nobody.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

std::set<std::string> suites_in(const std::string& text, const char* pattern) {
  std::set<std::string> suites;
  std::regex suite(pattern);
  for (std::sregex_iterator found(text.begin(), text.end(), suite), end; found != end; ++found) {
    suites.insert((*found)[1]);
  }
  return suites;
}

TEST(Faults, RunEverySuiteThatTheirReadmeNames) {
  std::set<std::string> run =
      suites_in(read_source("tests/faults/run").text, R"([':]([A-Z]\w*)\.)");
  std::set<std::string> named =
      suites_in(read_source("tests/faults/README.md").text, R"(`([A-Z]\w*)\.)");
  EXPECT_GT(named.size(), 40u) << "the README is read";
  for (const std::string& suite : named) {
    EXPECT_TRUE(run.contains(suite)) << suite << " is not in the filter of tests/faults/run";
  }
}

}  // namespace
}  // namespace hostler::style
