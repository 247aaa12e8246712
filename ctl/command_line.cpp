// Words looked up and run; see ctl/command_line.h.
#include "ctl/command_line.h"

#include <unistd.h>

#include <charconv>

#include <fmt/format.h>

#include "ctl/output.h"
#include "lib/json.h"

namespace hostler {

namespace {

void append_help(const CLI::App& app, const std::string& prefix, std::string& out) {
  std::string words = prefix.empty() ? app.get_name() : prefix + " " + app.get_name();
  auto commands =
      app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
  bool is_root = prefix.empty();
  if (is_root || commands.empty()) out += app.help(prefix) + "\n";
  for (const CLI::App* each : commands) append_help(*each, words, out);
}

std::string whole_number_fault(const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, fault] = std::from_chars(text.data(), end, value);
  size_t first = text.starts_with('-') ? 1 : 0;
  bool has_zeros = text.size() > first + 1 && text[first] == '0';
  if (stop != end || fault == std::errc::invalid_argument || has_zeros) {
    return fmt::format("{} is no whole number written in digits alone", text);
  }
  if (fault != std::errc() || value < least || value > most) {
    return fmt::format("{} is not within {} and {}", text, least, most);
  }
  return "";
}

void print_faults(const std::vector<std::string>& faults) {
  JsonWriter json;
  json.begin_object().member("ok", false).key("faults").begin_array();
  for (const std::string& fault : faults) json.text(fault);
  json.end_array().end_object();
  print_out(json.take() + "\n");
}

}  // namespace

CLI::Validator whole_number(int64_t least, int64_t most) {
  auto check = [least, most](std::string& text) { return whole_number_fault(text, least, most); };
  return CLI::Validator(check, "");
}

CommandLine::CommandLine() : app_("The operator's command line of Hostler.", "hostlerctl") {
  app_.set_version_flag("--version", "hostlerctl " HOSTLER_VERSION);
  app_.add_flag("--help-all", is_all_wanted_, "Print the help of all commands and exit");
  app_.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("hostlerctl: {}\nRun with --help for more information.\n", error.what());
  });
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
  name_options_of_all(*topic);
  return *topic;
}

CLI::App& CommandLine::command(CLI::App& under, const std::string& name,
                               const std::string& sentence, CommandRun run) {
  CLI::App* command = under.add_subcommand(name, sentence);
  name_options_of_all(*command);
  commands_[command].run = std::move(run);
  return *command;
}

CLI::App& CommandLine::command(const std::string& name, const std::string& sentence,
                               CommandRun run) {
  return command(app_, name, sentence, std::move(run));
}

// The help of all has them at its head.
void CommandLine::name_options_of_all(CLI::App& command) {
  command.footer([this] {
    if (is_all_wanted_) return std::string();
    return std::string("--config FILE and -o text|json may stand here too: hostlerctl --help");
  });
}

void CommandLine::needs_no_settings(const CLI::App& command) {
  commands_.at(&command).needs_settings = false;
}

std::string CommandLine::help_of_all() const {
  std::string out;
  append_help(app_, "", out);
  return out;
}

int CommandLine::run(int argc, char** argv) {
  app_.parse(argc, argv);
  if (is_all_wanted_) {
    print_out(help_of_all());
    return exit_ok;
  }
  const CLI::App* chosen = &app_;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  auto found = commands_.find(chosen);
  if (found == commands_.end()) {
    bool is_root = chosen == &app_;
    print_out(chosen->help(is_root ? "" : app_.get_name()));
    return exit_usage;
  }
  config::LoadedSettings loaded;
  if (found->second.needs_settings) loaded = config::load_settings(config_, environ);
  for (const std::string& fault : loaded.faults) fail(config::exit_bad_configuration, fault);
  if (!loaded.faults.empty()) {
    // Whoever asks in JSON what is wrong is told in JSON.
    if (chosen->get_name() == "check-config" && output_ == "json") print_faults(loaded.faults);
    return config::exit_bad_configuration;
  }
  return found->second.run({loaded, output_ == "json"});
}

}  // namespace hostler
