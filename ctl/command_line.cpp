// Words looked up and run; see ctl/command_line.h.
#include "ctl/command_line.h"

#include <unistd.h>

#include "ctl/output.h"

namespace hostler {

CommandLine::CommandLine() : app_("The operator's command line of Hostler.", "hostlerctl") {
  app_.set_version_flag("--version", "hostlerctl " HOSTLER_VERSION);
  app_.set_help_all_flag("--help-all", "Print the help of all commands and exit");
  app_.require_subcommand(0, 1);  // none: the help; an unknown one is then told by its name
  app_.fallthrough();             // --config and -o may stand after the command too
  app_.add_option("--config", config_, "the file of settings")
      ->type_name("FILE")
      ->default_str(std::string(config::default_settings_file));
  app_.add_option("-o,--output", output_, "text, or json for programs")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

CLI::App& CommandLine::topic(const std::string& name, const std::string& sentence) {
  CLI::App* topic = app_.add_subcommand(name, sentence);
  topic->require_subcommand(0, 1);
  return *topic;
}

CLI::App& CommandLine::command(CLI::App& under, const std::string& name,
                               const std::string& sentence, CommandRun run) {
  CLI::App* command = under.add_subcommand(name, sentence);
  commands_[command].run = std::move(run);
  return *command;
}

CLI::App& CommandLine::command(const std::string& name, const std::string& sentence,
                               CommandRun run) {
  return command(app_, name, sentence, std::move(run));
}

void CommandLine::needs_no_settings(const CLI::App& command) {
  commands_.at(&command).needs_settings = false;
}

int CommandLine::run(int argc, char** argv) {
  app_.parse(argc, argv);
  const CLI::App* said = &app_;
  while (!said->get_subcommands().empty()) said = said->get_subcommands().front();
  auto found = commands_.find(said);
  if (found == commands_.end()) {
    print_out(said->help());
    return exit_usage;
  }
  config::LoadedSettings loaded;
  if (found->second.needs_settings) loaded = config::load_settings(config_, environ);
  for (const std::string& fault : loaded.faults) fail(config::exit_bad_configuration, fault);
  if (!loaded.faults.empty()) return config::exit_bad_configuration;
  return found->second.run({loaded, output_ == "json"});
}

}  // namespace hostler
