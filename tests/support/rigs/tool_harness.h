// A stack whose platform's tool providers the tests of one program configure, one test after the
// other, at the fake model's four back ends. Tests in it run in one process, never side by side.
#pragma once

#include <string>

#include "tests/support/rigs/run_harness.h"

namespace hostler::testing_support {

// Started at the first call, with a runner and the fake model as the default model.
ApiStack& tool_stack();
// A platform administrator of it.
const TestUser& tool_admin();

std::string provider_path(const std::string& provider, const std::string& verb);
// Makes it the platform's provider of its group, at the fake model.
void use_tool_provider(const std::string& provider, const std::string& key = "key-0123456789");
// Takes every provider of the platform away.
void use_no_tool_provider();

// In a script of the fake model: a call of the tool.
std::string search_call(std::string_view query);
std::string fetch_call(std::string_view url);

}  // namespace hostler::testing_support
