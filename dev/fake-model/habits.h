// Things that a provider refuses although its protocol has them: members by name, roles, schemas of
// tools, requests over its context. A script names them ([refuses …], [context …]) for every
// request that plays it. Read by the planner.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dev/fake-model/chat.h"
#include "dev/fake-model/script.h"

namespace hostler::fake_model {

std::span<const std::string_view> refusable_names();
// The servers in whose words [context N SERVER] refuses.
std::span<const std::string_view> context_refusal_names();

// The refusal of the first habit of the script that the request offends; nothing: it offends none.
std::optional<Refusal> refused_by_habit(const std::vector<Turn>& script, const ChatRequest& request,
                                        const Json& body);

}  // namespace hostler::fake_model
