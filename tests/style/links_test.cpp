// Links of documents lead to what is there, file and heading: in the repository, and among the
// documents that `make install` lays into one folder.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/style/source_text.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::style {
namespace {

namespace fs = std::filesystem;
using testing_support::ProgramRun;
using testing_support::run_program;

bool is_fence(const std::string& line) { return trimmed(line).starts_with("```"); }

// Returns what a heading is called in links, as GitHub has it: lower case, blanks are hyphens, and
// of other characters only letters, digits and underscores stay.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (char c : trimmed(heading)) {
    bool stays = is_word_char(c) || c == '-' || (c & 0x80) != 0;
    if (c == ' ') anchor += '-';
    if (stays) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

// The second heading of a name has "-1" after it, the third "-2".
std::set<std::string> anchors_in(const std::string& document) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  bool in_fence = false;
  for (const std::string& line : lines_of(document)) {
    in_fence = in_fence != is_fence(line);
    size_t level = line.find_first_not_of('#');
    bool is_heading = !in_fence && level != 0 && level != line.npos && line[level] == ' ';
    if (!is_heading) continue;
    std::string anchor = anchor_of(line.substr(level));
    int times = seen[anchor]++;
    anchors.insert(times == 0 ? anchor : anchor + "-" + std::to_string(times));
  }
  return anchors;
}

// Relative links, with their lines; those to other sites nobody checks here.
std::vector<Piece> links_in(const std::string& document) {
  static const std::regex link(R"(\]\(([^()\s]+)\))");
  std::vector<Piece> links;
  bool in_fence = false;
  int number = 0;
  for (const std::string& line : lines_of(document)) {
    ++number;
    in_fence = in_fence != is_fence(line);
    if (in_fence) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
      std::string target = (*at)[1];
      if (target.find(':') == target.npos) links.push_back({number, target});
    }
  }
  return links;
}

class LinkCheck {
 public:
  // A line for each link of the document that leads nowhere.
  std::string dead_links(const SourceFile& document) {
    std::string dead;
    for (const Piece& link : links_in(document.text)) {
      ++count_;
      if (!leads_somewhere(document, link.text)) {
        dead += "  " + document.path + ":" + std::to_string(link.line) + ": " + link.text + "\n";
      }
    }
    return dead;
  }
  int count() const { return count_; }

 private:
  bool leads_somewhere(const SourceFile& document, const std::string& link) {
    size_t hash = std::min(link.find('#'), link.size());
    fs::path target = document.path;
    if (hash > 0) target = (target.parent_path() / link.substr(0, hash)).lexically_normal();
    if (!fs::exists(target)) return false;
    return hash == link.size() || anchors(target).contains(link.substr(hash + 1));
  }

  const std::set<std::string>& anchors(const fs::path& target) {
    auto [at, is_new] = anchors_.try_emplace(target.string());
    if (is_new) at->second = anchors_in(read_source(target).text);
    return at->second;
  }

  std::map<std::string, std::set<std::string>> anchors_;
  int count_ = 0;
};

TEST(Links, OfTheRepositoryLeadToFilesAndHeadings) {
  LinkCheck check;
  std::vector<SourceFile> documents = source_tree();
  documents.push_back(read_source("examples/chat/README.md"));
  std::string dead;
  for (const SourceFile& document : documents) {
    if (document.path.ends_with(".md")) dead += check.dead_links(document);
  }
  EXPECT_EQ(dead, "");
  EXPECT_GT(check.count(), 100);
}

class InstalledDocuments : public testing::Test {
 protected:
  InstalledDocuments()
      : folder_(fs::temp_directory_path() / ("documents-" + std::to_string(getpid()))) {}
  ~InstalledDocuments() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(InstalledDocuments, LinkToWhatIsInstalled) {
  ProgramRun made = run_program(
      {"make", "-f", "dev/install.mk", "install-documents", "DESTDIR=" + folder_.string(),
       "PREFIX=/usr", "DOCUMENTS=README.md ARCHITECTURE.md"},
      {"MAKEFLAGS="});
  ASSERT_EQ(made.status, 0) << made.err;
  LinkCheck check;
  std::string dead;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.path().extension() == ".md") dead += check.dead_links(read_source(entry.path()));
  }
  EXPECT_EQ(dead, "") << "dev/install.mk does not install these";
  EXPECT_GT(check.count(), 100);
}

TEST(Links, AreFoundDeadWhenTheyAre) {
  LinkCheck check;
  std::string heading = "[1](operations.md#mail) [2](operations.md#no-such) [3](none.md)\n";
  EXPECT_EQ(check.dead_links({"docs/a.md", heading}),
            "  docs/a.md:1: operations.md#no-such\n  docs/a.md:1: none.md\n");
  EXPECT_EQ(check.dead_links({"docs/a.md", "```\n[1](none.md)\n```\n[2](https://none)\n"}), "");
  EXPECT_EQ(anchors_in("# A b: `c`\n```\n# no\n```\n## A b: `c`\n"),
            (std::set<std::string>{"a-b-c", "a-b-c-1"}));
}

}  // namespace
}  // namespace hostler::style
