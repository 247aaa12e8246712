// The words of hostlerctl's command line and what each does: the topics (ctl/<topic>.cpp) add
// theirs, main.cpp runs the one that was said. Owner of CLI11. Knows no command itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "lib/config/settings_load.h"

namespace hostler {

// For options that are whole numbers: digits alone, so that neither 0100 nor 0x10 means something
// that nobody typed, within both bounds.
CLI::Validator whole_number(int64_t least, int64_t most);

// What every command is called with.
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
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // A word that needs another one behind it; alone it prints what there is.
  CLI::App& topic(const std::string& name, const std::string& sentence);
  // under: a topic. What it returns takes the command's options; their values must live as long as
  // run does: keep them in a shared_ptr that run captures.
  CLI::App& command(CLI::App& under, const std::string& name, const std::string& sentence,
                    CommandRun run);
  // A command of one word.
  CLI::App& command(const std::string& name, const std::string& sentence, CommandRun run);
  // It works whatever is in the files of settings, which are not read.
  void needs_no_settings(const CLI::App& command);

  const CLI::App& root() const { return app_; }
  CLI::App& root() { return app_; }
  // The help of every command that does something, with its options.
  std::string help_of_all() const;
  // Does what the words say. Throws CLI::ParseError for words that it does not know.
  int run(int argc, char** argv);

 private:
  struct Command {
    CommandRun run;
    bool needs_settings = true;
  };
  void name_options_of_all(CLI::App& command);

  CLI::App app_;
  std::string config_;
  std::string output_ = "text";
  bool is_all_wanted_ = false;
  std::map<const CLI::App*, Command> commands_;
};

}  // namespace hostler
