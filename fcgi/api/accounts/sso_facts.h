// Facts about a person that a login with an OpenID provider hands to the database, made of the
// claims that a daemon checked. Pure; used by fcgi/api/accounts/sso.cpp.
#pragma once

#include <string>

#include "lib/config/settings.h"
#include "lib/json.h"

namespace hostler {

// The `facts` of sql/schema/sso_logins.sql, in JSON.
std::string sso_facts(const Json& claims, const config::Settings& settings);

}  // namespace hostler
