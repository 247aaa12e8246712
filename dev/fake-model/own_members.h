// Members of a provider's own in a turn ([own …]): reasoning, signatures. Providers refuse
// a later request whose history has lost it beside a tool call. Read by the planner, the player and
// the wire forms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dev/fake-model/chat.h"
#include "lib/json.h"

namespace hostler::fake_model {

std::span<const std::string_view> own_member_names();

// The value that the turn of that number carries in this form: the same whenever the script is
// played, and another for each turn.
std::string own_value(std::string_view script, int64_t turn, std::string_view form);

// Refuses a history in which a turn with tool calls lacks what its script gave it, or has it
// changed. script_of: the script that a text of the user holds.
std::optional<Refusal> refused_for_own_members(
    const Json& body, std::string_view (*script_of)(std::string_view text));

// The members of OpenAI's delta or message; of extra_content those of a call.
std::string openai_own_members(std::string_view form, std::string_view value);

}  // namespace hostler::fake_model
