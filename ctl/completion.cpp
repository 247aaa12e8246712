// Completions: every position of the command line with the words that may follow; see completion.h.
#include "ctl/completion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "ctl/output.h"

namespace hostler {
namespace {

struct Word {
  std::string text;
  std::string sentence;
};

// A position: the commands said so far ("", "admin", "admin create") and what may follow.
struct Position {
  std::string path;
  std::vector<Word> words;
};

struct Choices {
  std::string path;    // of the position that takes it; the root's stand behind every command
  std::string option;  // --status
  std::string values;  // parted by blanks
};

// The values of an option that takes one of a few: CLI11 names its type TEXT:{text,json}.
std::string choices_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  size_t begin = type.find('{');
  size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string values = type.substr(begin + 1, end - begin - 1);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  return flags;
}

void gather(const CLI::App& app, const std::string& path, std::vector<Position>& positions,
            std::vector<Choices>& choices) {
  Position position{path, {}};
  // An option group is an App without a name, its options are those of the command.
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_name().empty()) {
      position.words.push_back({below->get_name(), below->get_description()});
      continue;
    }
    for (const CLI::Option* option : below->get_options()) {
      for (const std::string& flag : flags_of(*option)) {
        position.words.push_back({flag, option->get_description()});
      }
    }
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& flag : flags_of(*option)) {
      position.words.push_back({flag, option->get_description()});
      if (!choices_of(*option).empty()) choices.push_back({path, flag, choices_of(*option)});
    }
  }
  positions.push_back(std::move(position));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_name().empty()) continue;
    gather(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), positions,
           choices);
  }
}

std::string joined(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const Word& word : words) texts.push_back(word.text);
  return fmt::format("{}", fmt::join(texts, " "));
}

// In single quotes, for any of the three shells.
std::string quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', ' ');
  return "'" + text + "'";
}

// Values that bash and zsh compare with the position and the word before.
std::string pattern_of(const Choices& choice) {
  if (choice.path.empty()) return "*" + quoted(" " + choice.option);
  return quoted(choice.path + " " + choice.option);
}

// The position is found by taking the words that lead on; what is between them are values.
std::string bash_script(const std::vector<Position>& positions,
                        const std::vector<Choices>& choices) {
  std::string script =
      "# bash completion of hostlerctl, made by hostlerctl completion bash\n"
      "_hostlerctl() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} position='' words='' "
      "i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case \"${position:+$position }${COMP_WORDS[i]}\" in\n      ";
  for (const Position& position : positions) {
    if (position.path.empty()) continue;
    script +=
        fmt::format("{}{}", quoted(position.path), &position == &positions.back() ? "" : " | ");
  }
  script +=
      ") position=\"${position:+$position }${COMP_WORDS[i]}\" ;;\n    esac\n  done\n  case "
      "\"$position $prev\" in\n";
  for (const Choices& choice : choices) {
    script += fmt::format("    {}) words={} ;;\n", pattern_of(choice), quoted(choice.values));
  }
  script += "  esac\n  [ -n \"$words\" ] || case \"$position\" in\n";
  for (const Position& position : positions) {
    script +=
        fmt::format("    {}) words={} ;;\n", quoted(position.path), quoted(joined(position.words)));
  }
  return script +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o bashdefault -o default -F _hostlerctl hostlerctl\n";
}

std::string zsh_script(const std::vector<Position>& positions,
                       const std::vector<Choices>& choices) {
  std::string script =
      "#compdef hostlerctl\n"
      "# zsh completion of hostlerctl, made by hostlerctl completion zsh\n"
      "local position='' word\n"
      "local -a said\n"
      "for word in ${words[2,CURRENT-1]}; do\n"
      "  case \"${position:+$position }$word\" in\n    ";
  for (const Position& position : positions) {
    if (position.path.empty()) continue;
    script +=
        fmt::format("({}){}", quoted(position.path), &position == &positions.back() ? "" : " ");
  }
  // zsh takes alternatives within one pair of brackets.
  for (size_t at = script.find(") ("); at != std::string::npos; at = script.find(") (", at)) {
    script.replace(at, 3, "|");
  }
  script +=
      " position=\"${position:+$position }$word\" ;;\n  esac\ndone\ncase "
      "\"$position ${words[CURRENT-1]}\" in\n";
  for (const Choices& choice : choices) {
    script += fmt::format("  ({}) compadd {}; return ;;\n", pattern_of(choice), choice.values);
  }
  script += "esac\ncase \"$position\" in\n";
  for (const Position& position : positions) {
    script += fmt::format("  ({}) said=(", quoted(position.path));
    for (const Word& word : position.words) {
      script += fmt::format("\n    {}", quoted(word.text + ":" + word.sentence));
    }
    script += ") ;;\n";
  }
  return script + "esac\n_describe 'hostlerctl' said || _files\n";
}

std::string fish_script(const std::vector<Position>& positions,
                        const std::vector<Choices>& choices) {
  std::string script =
      "# fish completion of hostlerctl, made by hostlerctl completion fish\n"
      "function __hostlerctl_position\n"
      "  set -l position\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch (string trim \"$position $word\")\n      case ";
  for (const Position& position : positions) {
    if (!position.path.empty()) script += quoted(position.path) + " ";
  }
  script +=
      "\n        set position (string trim \"$position $word\")\n    end\n  end\n"
      "  test \"$position\" = \"$argv[1]\"\nend\n";
  for (const Position& position : positions) {
    for (const Word& word : position.words) {
      std::string condition = fmt::format("\"__hostlerctl_position '{}'\"", position.path);
      script += fmt::format("complete -c hostlerctl -n {} -a {} -d {}\n", condition,
                            quoted(word.text), quoted(word.sentence));
    }
  }
  for (const Choices& choice : choices) {
    bool is_long = choice.option.starts_with("--");
    std::string condition;
    if (!choice.path.empty()) {
      condition = fmt::format(" -n \"__hostlerctl_position '{}'\"", choice.path);
    }
    script +=
        fmt::format("complete -c hostlerctl{} {} {} -x -a {}\n", condition, is_long ? "-l" : "-s",
                    choice.option.substr(is_long ? 2 : 1), quoted(choice.values));
  }
  return script;
}

int print_completion(const CLI::App& root, const std::string& shell) {
  std::vector<Position> positions;
  std::vector<Choices> choices;
  gather(root, "", positions, choices);
  // The patterns of the root's own fit everywhere: they come last.
  std::stable_partition(choices.begin(), choices.end(),
                        [](const Choices& choice) { return !choice.path.empty(); });
  if (shell == "bash") {
    print_out(bash_script(positions, choices));
  } else if (shell == "zsh") {
    print_out(zsh_script(positions, choices));
  } else {
    print_out(fish_script(positions, choices));
  }
  return exit_ok;
}

}  // namespace

void add_completion_command(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  CommandWord command = line.command(
      "completion", "print the completions of a shell",
      [shell, &line](const CommandCall&) { return print_completion(line.root(), *shell); });
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"});
  line.needs_no_settings(command);
}

}  // namespace hostler
