// What an operator asks about organizations, and the end of an API key. Called by ctl/main.cpp.
#pragma once

#include <string>

#include "lib/settings.h"

namespace hostler {

struct KeyToRevoke {
  std::string id;           // of the key; empty: the key itself is read
  bool from_stdin = false;  // from the first line of standard input
  bool as_json = false;
};

// Each returns the exit status, and throws Error when the database is out of reach or has no such
// thing. A revoked key stays revoked; the audit log has no actor then.
int revoke_api_key(const Settings& settings, const KeyToRevoke& key);
// Newest first, at most so many.
int list_orgs(const Settings& settings, int most, bool as_json);
// By id or slug: the organization with its members.
int show_org(const Settings& settings, const std::string& id_or_slug, bool as_json);

}  // namespace hostler
