// Parts of the tables of commands of the little language: script.cpp has the plain ones,
// script_habits.cpp those that play the habits of real providers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dev/fake-model/script.h"

namespace hostler::fake_model {

// Describes the fault of a command; nothing if it is right.
using ScriptComplaint = std::optional<std::string>;

struct Script {
  std::vector<Turn> turns;
  Turn turn;  // the one being gathered
};

enum class CommandBody { plain, text, json };  // how its closing bracket is found

struct CommandRow {
  std::string_view name;
  CommandBody body;
  ScriptComplaint (*add)(Script& script, std::string_view rest);
};

std::span<const CommandRow> habit_commands();

// Ends the gathered turn with these calls: the script goes on when their results have arrived.
ScriptComplaint end_turn(Script& script, Step step);

}  // namespace hostler::fake_model
