// Tests what documents tell operators to set, look for and call is there: settings, variables of
// the environment, fields and events of the log, commands of hostlerctl. The last by asking it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lib/config/settings_table.h"
#include "tests/style/source_text.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::style {
namespace {

using testing_support::run_ctl;

// Returns what operators read. NEWS.md may name what is no more.
bool is_for_operators(const std::string& path) {
  if (path == "NEWS.md") return false;
  bool is_document = path.ends_with(".md") || path == "docs/openapi.yaml";
  bool is_installed = path.starts_with("docs/man/") || path.starts_with("docs/cluster/") ||
                      path.starts_with("systemd/") || path.starts_with("docs/monitoring/");
  return is_document || is_installed;
}

std::vector<SourceFile> documents() {
  std::vector<SourceFile> found;
  for (SourceFile& file : source_tree()) {
    if (is_for_operators(file.path)) found.push_back(std::move(file));
  }
  EXPECT_GT(found.size(), 30u);
  return found;
}

// Every name in quotes in the programs and their SQL: settings, codes, events, keys of the log.
std::set<std::string> names_in_code() {
  static const std::regex quoted(R"(['"]([a-z_]+(?:\.[a-z_]+)?)['"])");
  std::set<std::string> names;
  for (const SourceFile& file : source_tree()) {
    bool is_code = is_cpp(file.path) || file.path.ends_with(".sql");
    if (!is_code || is_test(file.path)) continue;
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), quoted), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  EXPECT_TRUE(names.contains("limit.concurrent_runs"));
  return names;
}

// Words of the form section.name, of sections that settings have, but no piece of a path, of an
// address or of a file's name.
std::vector<Piece> dotted_names_in(const std::string& text) {
  static const std::regex dotted(R"(([a-z_]+)\.([a-z_]+))");
  static const std::set<std::string> endings = {"md",   "sql",  "sh",   "mjs",  "cpp", "yml",
                                                "toml", "json", "conf", "sock", "png", "service"};
  std::set<std::string> sections;
  for (const config::SettingRow& row : config::setting_rows)
    sections.insert(std::string(row.name.substr(0, row.name.find('.'))));
  auto is_joined = [](char c) { return is_word_char(c) || c == '/' || c == '-' || c == '@'; };
  std::vector<Piece> names;
  for (std::sregex_iterator at(text.begin(), text.end(), dotted), end; at != end; ++at) {
    size_t begin = static_cast<size_t>(at->position());
    std::string behind = text.substr(begin + at->str().size(), 2) + "  ";
    bool goes_on = is_joined(behind[0]) || (behind[0] == '.' && is_word_char(behind[1]));
    bool is_inside = begin > 0 && (is_joined(text[begin - 1]) || text[begin - 1] == '.');
    bool is_file = endings.contains((*at)[2]);
    if (!sections.contains((*at)[1]) || goes_on || is_inside || is_file) continue;
    names.push_back({line_at(text, begin), at->str()});
  }
  return names;
}

TEST(Documents, NameSettingsThatThereAre) {
  std::set<std::string> known = names_in_code();
  known.insert("web_fetch.basic");  // the code puts the provider behind the group
  std::string unknown;
  int settings = 0;
  for (const SourceFile& file : documents()) {
    for (const Piece& name : dotted_names_in(file.text)) {
      settings += config::find_setting(name.text) == config::setting_count ? 0 : 1;
      if (known.contains(name.text)) continue;
      unknown += "  " + file.path + ":" + std::to_string(name.line) + ": " + name.text + "\n";
    }
  }
  EXPECT_EQ(unknown, "") << "there is no setting, code or event of this name";
  EXPECT_GT(settings, 100);
}

TEST(Documents, ListTheLimitsThatEntitlementsChange) {
  const std::string manual = read_source("docs/operations.md").text;
  int count = 0;
  for (const Piece& name :
       take_apart(read_source("fcgi/api/billing/entitlement_input.cpp").text).strings) {
    if (!name.text.starts_with("limit.") || name.text == "limit.") continue;
    ++count;
    EXPECT_NE(manual.find("`" + name.text + "`"), manual.npos)
        << name.text << ": name it in docs/operations.md, Plans, entitlements and flags";
  }
  EXPECT_GT(count, 10);
}

// HOSTLER_RUN_SLOTS of run.slots.
std::set<std::string> variables_of_settings() {
  std::set<std::string> names;
  for (const config::SettingRow& row : config::setting_rows) {
    std::string name = "HOSTLER_" + std::string(row.name);
    for (char& c : name)
      c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    names.insert(name);
  }
  return names;
}

// A key of the log is a field of the journal: HOSTLER_RUN_ID of run_id.
std::string log_key_of(std::string variable) {
  variable.erase(0, std::string_view("HOSTLER_").size());
  for (char& c : variable) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return variable;
}

TEST(Documents, NameVariablesAndEventsThatThereAre) {
  static const std::regex variable(R"(\b(HOSTLER_[A-Z_]*[A-Z])(?:=([a-z_]+)\b)?)");
  const std::set<std::string> of_settings = variables_of_settings();
  const std::set<std::string> in_code = names_in_code();
  const std::string of_any_setting = "HOSTLER_SECTION_NAME";
  std::string unknown;
  int events = 0;
  for (const SourceFile& file : documents()) {
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), variable), end; at != end;
         ++at) {
      std::string name = (*at)[1];
      bool is_event = name == "HOSTLER_EVENT" && (*at)[2].matched;
      bool is_known = of_settings.contains(name) || in_code.contains(log_key_of(name)) ||
                      name == of_any_setting || file.text[at->position() + name.size()] == '_';
      if (is_event) is_known = in_code.contains((*at)[2]);
      events += is_event ? 1 : 0;
      if (!is_known) unknown += "  " + file.path + ": " + at->str() + "\n";
    }
  }
  EXPECT_EQ(unknown, "") << "there is no such setting, field or event of the log";
  EXPECT_GT(events, 5);
}

// ---------------------------------------------------------------- hostlerctl

// The words below "Subcommands:" of a help text.
std::set<std::string> commands_in(const std::string& help) {
  static const std::regex command(R"(\n  ([a-z][a-z-]*) )");
  std::set<std::string> words;
  std::string list = help.substr(std::min(help.find("\nSubcommands:"), help.size()));
  for (std::sregex_iterator at(list.begin(), list.end(), command), end; at != end; ++at)
    words.insert((*at)[1]);
  return words;
}

// Returns what documents call: lines of blocks and what stands in backticks.
std::vector<Piece> code_in(const SourceFile& file) {
  static const std::regex in_backticks("`([^`]+)`");
  std::vector<Piece> code;
  bool in_block = false;
  int number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    bool is_fence = trimmed(line).starts_with("```");
    in_block = in_block != is_fence;
    if (is_fence) continue;
    if (in_block) {
      code.push_back({number, line});
      continue;
    }
    for (std::sregex_iterator at(line.begin(), line.end(), in_backticks), end; at != end; ++at)
      code.push_back({number, (*at)[1]});
  }
  return code;
}

struct ControlCall {
  std::string command, below;  // each empty when there is none
  std::vector<std::string> options;
};

// "hostlerctl -o json run tail $RUN --after-seq 120 | jq" is run, tail, {-o, --after-seq}.
std::vector<ControlCall> calls_in(const std::string& code) {
  static const std::regex call(R"((?:^|[\s/])hostlerctl ([^|;&#]*))");
  static const std::regex word("[a-z][a-z-]*");
  static const std::regex option("--[a-z][a-z-]*");
  std::vector<ControlCall> calls;
  for (std::sregex_iterator at(code.begin(), code.end(), call), end; at != end; ++at) {
    ControlCall found;
    std::istringstream words((*at)[1].str());
    for (std::string one; words >> one;) {
      bool is_word = std::regex_match(one, word);
      bool has_value = one == "-o" || one == "--config";
      if (std::regex_match(one, option)) found.options.push_back(one);
      if (has_value && found.command.empty()) words >> one;
      if (!is_word) continue;
      if (found.command.empty()) {
        found.command = one;
      } else if (found.below.empty()) {
        found.below = one;
      }
    }
    calls.push_back(std::move(found));
  }
  return calls;
}

TEST(Documents, CallCommandsThatHostlerctlHas) {
  std::string help = run_ctl({"--help-all"}).out;
  std::map<std::string, std::set<std::string>> commands;
  for (const std::string& command : commands_in(run_ctl({"--help"}).out))
    commands[command] = commands_in(run_ctl({command, "--help"}).out);
  ASSERT_GT(commands.size(), 20u);
  std::string unknown;
  int count = 0;
  for (const SourceFile& file : documents()) {
    if (!file.path.ends_with(".md")) continue;
    for (const Piece& code : code_in(file)) {
      for (const ControlCall& call : calls_in(code.text)) {
        ++count;
        auto command = commands.find(call.command);
        bool is_known = command != commands.end() || call.command.empty();
        bool has_below = is_known && !call.below.empty() && !command->second.empty();
        if (has_below) is_known = command->second.contains(call.below);
        for (const std::string& option : call.options)
          is_known = is_known && help.find(option) != help.npos;
        if (!is_known) unknown += "  " + file.path + ": " + code.text + "\n";
      }
    }
  }
  EXPECT_EQ(unknown, "");
  EXPECT_GT(count, 30);
}

TEST(Documents, AreReadAsPeopleReadThem) {
  std::vector<Piece> names = dotted_names_in(
      "`limit.no_such`, run.md and docs/run.slots\nmail.example.org, x.run.slots: api.workers.");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].text, "limit.no_such");
  EXPECT_EQ(names[1].text, "api.workers");
  EXPECT_EQ(names[1].line, 2);
  std::vector<ControlCall> calls =
      calls_in("sudo hostlerctl -o json run tail $RUN --after-seq 1 | hostlerctl secrets");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].command + " " + calls[0].below, "run tail");
  EXPECT_EQ(calls[0].options, (std::vector<std::string>{"--after-seq"}));
  EXPECT_EQ(calls[1].command, "secrets");
  EXPECT_EQ(code_in({"a.md", "`a` b\n```sh\nc\n```\nd `e`\n"}).size(), 3u);
}

}  // namespace
}  // namespace hostler::style
