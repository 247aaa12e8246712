// Words looked up and run; see ctl/command_line.h.
#include "ctl/command_line.h"

#include <unistd.h>

#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

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
    return fmt::format("{} is not a whole number written only in digits", text);
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

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::excludes(CommandOption other) {
  option_->excludes(other.option_);
  return *this;
}

CommandOption& CommandOption::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

CommandOption& CommandOption::shows_default() {
  option_->capture_default_str();
  return *this;
}

CommandOption& CommandOption::within(int64_t least, int64_t most) {
  auto check = [least, most](std::string& text) { return whole_number_fault(text, least, most); };
  option_->check(CLI::Validator(check, ""));
  return *this;
}

CommandOption& CommandOption::one_of(std::vector<std::string> values) {
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

CommandOption CommandWord::add_option(const std::string& names, std::string& value,
                                      const std::string& sentence) {
  return CommandOption(app_->add_option(names, value, sentence));
}

CommandOption CommandWord::add_option(const std::string& names, std::optional<std::string>& value,
                                      const std::string& sentence) {
  return CommandOption(app_->add_option(names, value, sentence));
}

CommandOption CommandWord::add_option(const std::string& names, int64_t& value,
                                      const std::string& sentence) {
  return CommandOption(app_->add_option(names, value, sentence));
}

CommandOption CommandWord::add_option(const std::string& names, int& value,
                                      const std::string& sentence) {
  return CommandOption(app_->add_option(names, value, sentence));
}

CommandOption CommandWord::add_option(const std::string& names, bool& value,
                                      const std::string& sentence) {
  return CommandOption(app_->add_option(names, value, sentence));
}

CommandOption CommandWord::add_flag(const std::string& names, bool& value,
                                    const std::string& sentence) {
  return CommandOption(app_->add_flag(names, value, sentence));
}

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("The operator's command line of Hostler.", "hostlerctl")) {
  app_->set_version_flag("--version", "hostlerctl " HOSTLER_VERSION);
  app_->add_flag("--help-all", is_all_wanted_, "Print the help of all commands and exit");
  app_->failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("hostlerctl: {}\nRun with --help for more information.\n", error.what());
  });
  app_->require_subcommand(0, 1);  // none: the help; an unknown one is then told by its name
  app_->fallthrough();             // --config and -o may stand after the command too
  app_->add_option("--config", config_, "the settings file")
      ->type_name("FILE")
      ->default_str(std::string(config::default_settings_file));
  app_->add_option("-o,--output", output_, "text, or json for programs")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

CommandLine::~CommandLine() = default;

CommandWord CommandLine::topic(const std::string& name, const std::string& sentence) {
  CLI::App* topic = app_->add_subcommand(name, sentence);
  topic->require_subcommand(0, 1);
  name_options_of_all(*topic);
  return CommandWord(topic);
}

CommandWord CommandLine::command(CommandWord under, const std::string& name,
                                 const std::string& sentence, CommandRun run) {
  CLI::App* command = under.app_->add_subcommand(name, sentence);
  name_options_of_all(*command);
  commands_[command].run = std::move(run);
  return CommandWord(command);
}

CommandWord CommandLine::command(const std::string& name, const std::string& sentence,
                                 CommandRun run) {
  return command(CommandWord(app_.get()), name, sentence, std::move(run));
}

// The help of all has them at its head.
void CommandLine::name_options_of_all(CLI::App& command) {
  command.footer([this] {
    if (is_all_wanted_) return std::string();
    return std::string("--config FILE and -o text|json work here too: hostlerctl --help");
  });
}

void CommandLine::needs_no_settings(CommandWord command) {
  commands_.at(command.app_).needs_settings = false;
}

std::string CommandLine::help_of_all() const {
  std::string out;
  append_help(*app_, "", out);
  return out;
}

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? exit_ok : exit_usage;
  }
  if (is_all_wanted_) {
    print_out(help_of_all());
    return exit_ok;
  }
  const CLI::App* chosen = app_.get();
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  auto found = commands_.find(chosen);
  if (found == commands_.end()) {
    bool is_root = chosen == app_.get();
    print_out(chosen->help(is_root ? "" : app_->get_name()));
    return exit_usage;
  }
  config::LoadedSettings loaded;
  if (found->second.needs_settings) loaded = config::load_settings(config_, environ);
  for (const std::string& fault : loaded.faults) fail(config::exit_bad_configuration, fault);
  if (!loaded.faults.empty()) {
    // With JSON output, faults are printed as JSON too.
    if (chosen->get_name() == "check-config" && output_ == "json") print_faults(loaded.faults);
    return config::exit_bad_configuration;
  }
  return found->second.run({loaded, output_ == "json"});
}

}  // namespace hostler
