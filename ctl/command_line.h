// The words of hostlerctl's command line and their actions: the topics (ctl/<topic>.cpp) add
// theirs, main.cpp runs the given one. Knows no command itself. Hides CLI11, whose one header takes
// longer to compile than the rest of a topic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/settings_load.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hostler {

// An option, flag or positional of a command; lives as long as its command line.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  CommandOption& required();
  CommandOption& excludes(CommandOption other);
  // Name of its value in the help.
  CommandOption& type_name(const std::string& name);
  // The help shows the value that it has now.
  CommandOption& shows_default();
  // Digits alone, so that neither 0100 nor 0x10 means something that nobody typed, within both
  // bounds.
  CommandOption& within(int64_t least, int64_t most);
  CommandOption& one_of(std::vector<std::string> values);

 private:
  CLI::Option* option_;
};

// A topic, or a command with its options: `--name`, `-n,--name`, or NAME for a positional. A value
// is written when the words are read.
class CommandWord {
 public:
  explicit CommandWord(CLI::App* app) : app_(app) {}

  CommandOption add_option(const std::string& names, std::string& value,
                           const std::string& sentence);
  CommandOption add_option(const std::string& names, std::optional<std::string>& value,
                           const std::string& sentence);
  CommandOption add_option(const std::string& names, int64_t& value, const std::string& sentence);
  CommandOption add_option(const std::string& names, int& value, const std::string& sentence);
  CommandOption add_option(const std::string& names, bool& value, const std::string& sentence);
  CommandOption add_flag(const std::string& names, bool& value, const std::string& sentence);

 private:
  friend class CommandLine;
  CLI::App* app_;
};

// Arguments of every command.
struct CommandCall {
  const config::LoadedSettings& loaded;  // empty for a command without settings
  bool as_json = false;

  const config::Settings& settings() const { return loaded.settings; }
};
// Returns the exit status (ctl/output.h); may throw Error.
using CommandRun = std::function<int(const CommandCall&)>;

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // A word that needs another one after it; alone it prints the list of them.
  CommandWord topic(const std::string& name, const std::string& sentence);
  // under: a topic. What it returns takes the command's options; their values must live as long as
  // run does: keep them in a shared_ptr that run captures.
  CommandWord command(CommandWord under, const std::string& name, const std::string& sentence,
                      CommandRun run);
  // A command of one word.
  CommandWord command(const std::string& name, const std::string& sentence, CommandRun run);
  // It works whatever is in the files of settings, which are not read.
  void needs_no_settings(CommandWord command);

  const CLI::App& root() const { return *app_; }
  // The help of every command that does something, with its options.
  std::string help_of_all() const;
  // Does what the words say, or prints what is wrong with them.
  int run(int argc, char** argv);

 private:
  struct Command {
    CommandRun run;
    bool needs_settings = true;
  };
  void name_options_of_all(CLI::App& command);

  std::unique_ptr<CLI::App> app_;
  std::string config_;
  std::string output_ = "text";
  bool is_all_wanted_ = false;
  std::map<const CLI::App*, Command> commands_;
};

}  // namespace hostler
