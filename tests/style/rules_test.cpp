// Runs every style rule over the source tree. A failure names file, line and the rule's reason.
#include <gtest/gtest.h>

#include <string>

#include "tests/style/rules.h"

namespace hostler::style {
namespace {

std::string text_of(const Rule& rule, const Findings& findings) {
  std::string text = std::string(rule.name) + ": " + std::string(rule.reason) + "\n";
  for (const Finding& finding : findings) {
    text += "  " + finding.path + ":" + std::to_string(finding.line) + ": " + finding.what + "\n";
  }
  return text;
}

class StyleRule : public testing::TestWithParam<Rule> {};

TEST_P(StyleRule, HoldsInEveryFile) {
  Findings findings;
  for (const SourceFile& file : source_tree()) {
    for (const Finding& finding : GetParam().check(file)) {
      if (!is_excepted(GetParam(), finding)) findings.push_back(finding);
    }
  }
  EXPECT_TRUE(findings.empty()) << text_of(GetParam(), findings);
}

INSTANTIATE_TEST_SUITE_P(Tree, StyleRule, testing::ValuesIn(rules),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(StyleTree, IsReadFromTheRootOfTheRepository) {
  std::vector<SourceFile> files = source_tree();
  EXPECT_GT(files.size(), 20u) << "run the style test from the root of the repository";
}

TEST(StyleExceptions, AreAllStillNeeded) {
  std::vector<SourceFile> files = source_tree();
  for (const Exception& exception : exceptions) {
    bool is_needed = false;
    for (const Rule& rule : rules) {
      for (const SourceFile& file : files) {
        bool is_meant = rule.name == exception.rule && file.path == exception.path;
        is_needed = is_needed || (is_meant && !rule.check(file).empty());
      }
    }
    EXPECT_TRUE(is_needed) << exception.rule << " " << exception.path << ": take the row out";
  }
}

}  // namespace
}  // namespace hostler::style
