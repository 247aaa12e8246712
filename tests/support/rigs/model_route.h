// A model of either wire form at a stack's fake model, and what the fake model was sent for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

struct ModelRoute {
  std::string model;  // a name that no other has
  std::string route_id;
};
// form: openai or anthropic; prices: members of the model, such as ,"input_usd_per_mtok":3
ModelRoute make_route(const ApiStack& stack, const TestUser& admin, std::string_view form,
                      std::string_view prices = "");
// The bodies of the last hundred requests that are for this model, oldest first.
std::vector<std::string> requests_for(const ApiStack& stack, const std::string& model);

}  // namespace hostler::testing_support
