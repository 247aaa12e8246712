// The way out of a lock-out: shows and takes away what keeps clients outside. For ctl/main.cpp.
#pragma once

#include <string>
#include <vector>

#include "lib/settings.h"

namespace hostler {

struct IpRulesOrder {
  std::string org;      // id, slug, or a login for somebody's personal organization
  std::string rule_id;  // to delete
  bool is_all = false;  // delete: every rule
  bool as_json = false;
};

// Each returns the exit status and throws Error when the database is out of reach, or
// orgs_not_found, or ip_rules_not_found.
int list_ip_rules_of(const Settings& settings, const IpRulesOrder& order);
int delete_ip_rules_of(const Settings& settings, const IpRulesOrder& order);
int show_gateway(const Settings& settings, bool as_json);
// What was stored is forgotten; file and environment count again, within a second everywhere.
int reset_gateway(const Settings& settings, bool as_json);

// What keeps everybody outside, or makes one client of all: for the doctor. orgs_shut: how many
// organizations block every address.
std::vector<std::string> gateway_doubts(const Settings& in_force, int64_t orgs_shut);

}  // namespace hostler
