// The bodies in which servers refuse a request, by name, and their words for one that is too long.
// Read by the planner and by the tables of commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

// The names that [status CODE FORM] takes.
std::span<const std::string_view> refusal_form_names();
// The same refusal with a body of that form.
Refusal refusal_in_form(Refusal refusal, std::string_view form);

Refusal context_refusal(std::string_view server, int64_t limit_tokens, int64_t asked_tokens);

}  // namespace hostler::fake_model
