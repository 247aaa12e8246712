// Settings of sessions whose statements are planned once, for tests whose own sessions are none of
// these.
#pragma once

#include <string>

#include <fmt/format.h>

#include "lib/postgres/session_settings.h"

namespace hostler::testing_support {

// Returns what DatabaseOptions::plans_once begins a session with, as statements.
inline std::string plans_once_settings() {
  std::string texts;
  for (const postgres::SessionSetting& setting : postgres::plans_once_settings()) {
    texts += fmt::format("SET {} = {}; ", setting.name, setting.value);
  }
  return texts;
}

}  // namespace hostler::testing_support
