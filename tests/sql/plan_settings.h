// How sessions plan whose statements are planned once, for tests whose own are none of these.
#pragma once

#include <regex>
#include <string>

#include "lib/postgres/connection.h"

namespace hostler::testing_support {

// What DatabaseOptions::plans_once begins a session with, as statements.
inline std::string plans_once_settings() {
  return std::regex_replace(std::string(postgres::plans_once_options), std::regex(" -c ([^ ]+)"),
                            "SET $1; ");
}

}  // namespace hostler::testing_support
