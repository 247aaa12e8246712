// Shows the plans and sets feature flags. Called by ctl/main.cpp.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

// Each plan with its entitlements, the newest first.
int list_plans(const Settings& settings, bool as_json);
// The value of a flag where no organization overrides it. Throws Error (feature_flags_not_found).
int set_flag(const Settings& settings, const std::string& key, bool value, bool as_json);

}  // namespace hostler
