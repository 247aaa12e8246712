// Tests what comments and documents name is there: a path resolves, a section of the contract
// exists.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

namespace fs = std::filesystem;

// Named without its ending ("lib/json"), as a file with any, or as a folder.
bool resolves(std::string path) {
  while (!path.empty() && (path.back() == '.' || path.back() == '/')) path.pop_back();
  if (fs::exists(path)) return true;
  fs::path folder = fs::path(path).parent_path();
  std::string name = fs::path(path).filename().string();
  if (!fs::is_directory(folder)) return false;
  std::string pattern = std::regex_replace(name, std::regex(R"(\.)"), R"(\.)");
  const std::regex wanted(std::regex_replace(pattern, std::regex(R"(\*)"), ".*"));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().stem().string() == name) return true;
    if (std::regex_match(entry.path().filename().string(), wanted)) return true;
  }
  return false;
}

// Returns what of a file speaks to readers: a document whole, of code the comments.
std::vector<Piece> words_for_readers(const SourceFile& file) {
  if (is_cpp(file.path)) return take_apart(file.text).comments;
  std::vector<Piece> pieces;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    bool is_document = file.path.ends_with(".md");
    size_t from = is_document ? 0 : std::min(line.find("# "), line.find("-- "));
    if (from != line.npos) pieces.push_back({number, line.substr(from)});
  }
  return pieces;
}

bool is_read(const SourceFile& file) {
  return !file.path.ends_with(".json") && !file.path.ends_with(".gz") &&
         file.path != "docs/openapi.yaml" && file.path != "NEWS.md" &&
         !file.path.starts_with("tests/fuzz/corpus") &&
         file.path != "tests/style/references_test.cpp";
}

TEST(References, NamePathsThatExist) {
  // Returns what has a word of a pattern in it (<topic>, {a,b}) or is made while building names no
  // file.
  const std::regex path(
      R"((^|[\s`("'])()"
      R"((lib|fcgi|runner|sse-relay|ctl|sql|nginx|dev|tests|docs|systemd|templates|debian)/)"
      R"([A-Za-z0-9_./*-]*)([^A-Za-z0-9_./*<{$-]|$))");
  for (const SourceFile& file : source_tree()) {
    if (!is_read(file)) continue;
    for (const Piece& piece : words_for_readers(file)) {
      for (std::sregex_iterator at(piece.text.begin(), piece.text.end(), path), end; at != end;
           ++at) {
        EXPECT_TRUE(resolves(at->str(2))) << file.path << ":" << piece.line << ": " << at->str(2);
      }
    }
  }
}

TEST(References, NameSectionsThatTheContractHas) {
  std::set<std::string> sections;
  const std::regex heading(R"(^## (\d+)\. )");
  for (const SourceFile& page : source_tree()) {
    if (!page.path.starts_with("docs/contract")) continue;
    for (const std::string& line : lines_of(page.text)) {
      std::smatch found;
      if (std::regex_search(line, found, heading)) sections.insert(found[1]);
    }
  }
  ASSERT_GE(sections.size(), 10u);
  const std::regex section(R"([Cc]ontract,? sections? (\d+))");
  int named = 0;
  for (const SourceFile& file : source_tree()) {
    if (!is_read(file)) continue;
    for (const Piece& piece : words_for_readers(file)) {
      for (std::sregex_iterator at(piece.text.begin(), piece.text.end(), section), end; at != end;
           ++at) {
        ++named;
        EXPECT_TRUE(sections.contains(at->str(1)))
            << file.path << ":" << piece.line << ": " << at->str();
      }
      EXPECT_EQ(piece.text.find("description, 4."), std::string::npos)
          << file.path << ":" << piece.line << ": name a section of docs/contract.md";
    }
  }
  EXPECT_GT(named, 20);
}

}  // namespace
}  // namespace hostler::style
