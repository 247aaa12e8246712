// Counts sentences that break the rules of tests/style/prose_rules.h, by folder, against a baseline
// that may only fall. A failure lists the findings of the folder.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "tests/style/prose_rules.h"

namespace hostler::style {
namespace {

struct ProseBaseline {
  std::string_view prefix;  // of paths; the first row that fits counts
  int findings_max;
};

// Lower a row when you rewrite its files. Never raise one: rewrite the sentence.
constexpr std::array<ProseBaseline, 10> baseline = {{
    {"console/", 0},
    {"ctl/", 5},
    {"dev/", 5},
    {"fcgi/", 5},
    {"lib/", 5},
    {"runner/", 5},
    {"sql/", 5},
    {"sse-relay/", 5},
    {"tests/", 75},
    {"", 0},  // documents and everything else
}};

const ProseBaseline& baseline_of(const std::string& path) {
  for (const ProseBaseline& row : baseline) {
    if (path.starts_with(row.prefix)) return row;
  }
  return baseline.back();
}

TEST(Prose, FallsInEveryFolder) {
  std::map<std::string_view, Findings> found;
  for (const SourceFile& file : source_tree()) {
    Findings& folder = found[baseline_of(file.path).prefix];
    for (Finding& finding : prose_findings(file)) folder.push_back(std::move(finding));
  }
  for (const ProseBaseline& row : baseline) {
    const Findings& findings = found[row.prefix];
    int count = static_cast<int>(findings.size());
    std::string list;
    for (const Finding& finding : findings)
      list += "  " + finding.path + ":" + std::to_string(finding.line) + ": " + finding.what + "\n";
    EXPECT_LE(count, row.findings_max) << "\"" << row.prefix << "\": rewrite a sentence\n" << list;
    int slack = count / 10 + 5;  // so that two branches may fall at once
    EXPECT_GE(count + slack, row.findings_max)
        << "\"" << row.prefix << "\": lower the baseline to " << count;
  }
}

std::string found_in(const std::string& path, const std::string& text) {
  std::string all;
  for (const Finding& finding : prose_findings({path, text}))
    all += std::to_string(finding.line) + ": " + finding.what + "\n";
  return all;
}

TEST(Prose, FindsOpenings) {
  EXPECT_EQ(found_in("a.md", "Of these two fit.\n"), "1: begins with \"of\"\n");
  EXPECT_EQ(found_in("a.md", "It fits.\nNothing\nelse does.\n"), "1: begins with \"nothing\"\n");
  EXPECT_EQ(found_in("a.md", "- What fits is kept.\n"), "1: begins with \"what\"\n");
  EXPECT_EQ(found_in("lib/a.h", "int a;\n// One that\n// fits.\n"),
            "2: begins with \"one that\"\n");
  EXPECT_EQ(found_in("sql/a.sql", "-- As it was.\n"), "1: begins with \"as\"\n");
  EXPECT_EQ(found_in("a.md", "## What fits\n\nWhat fits? Office `what`.\n"), "");
  EXPECT_EQ(found_in("a.md", "| What | Who |\n|---|---|\n| of one | two |\n"), "");
  EXPECT_EQ(found_in("lib/a.h", "// Keeps what fits. Of two the first.\n"), "");
}

TEST(Prose, FindsPhrases) {
  EXPECT_EQ(found_in("a.md", "Users\nare told so.\n"), "1: \"are told\"\n");
  EXPECT_EQ(found_in("docs/man/a.8", ".Nm\nruns anew.\n.Bd\nanew\n.Ed\n"), "2: \"anew\"\n");
  EXPECT_EQ(found_in("console/words/a.mjs", "  x: 'tried in vain',\n"), "1: \"in vain\"\n");
  EXPECT_EQ(found_in("a.md", "Say `in vain`.\n```\nin vain\n```\n"), "");
}

TEST(Prose, CountsTheWordsOfASentence) {
  std::string words;
  for (int i = 0; i < sentence_words_max; ++i) words += "word ";
  EXPECT_EQ(found_in("a.md", words + "`code` [word](x.md)."), "1: 26 words\n");
  EXPECT_EQ(found_in("a.md", words + "`code`. Word " + words), "1: 26 words\n");
  EXPECT_EQ(found_in("a.md", words + "`code`.\n\n" + words), "");
  EXPECT_EQ(found_in("lib/a.h", "// " + words + words), "");
}

}  // namespace
}  // namespace hostler::style
