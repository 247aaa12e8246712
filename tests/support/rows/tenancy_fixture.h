// An organization with one of everything in it, the callers who ask for it, and the routes they ask
// by, read from hostler-api --routes. For tests/api/orgs/tenancy_matrix_test.cpp.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

// A line of --routes.
struct PrintedRoute {
  std::string method, path, access, keys, sending, body_bytes_max;

  std::string name() const { return method + " " + path; }
  bool takes_body() const { return body_bytes_max != "0"; }
  bool reads() const { return method == "GET"; }
  // The path names the organization acted in.
  bool is_in_path_org() const { return path.starts_with("/v1/orgs/{org_id}"); }
  bool has_scope() const { return access.starts_with("scope:"); }
  std::string permission() const { return access.substr(access.find(':') + 1); }
  std::vector<std::string> path_names() const;
  // Its document says what an X-Org-Id of somebody else gives.
  bool is_reported_orgs() const;
  // Names whose things belong to one organization.
  std::set<std::string> tenants_names() const;
};

// All that somebody is needed for, but the streams, which the daemon serves.
std::vector<PrintedRoute> guarded_routes();
// Names that need nobody.
std::vector<PrintedRoute> open_routes();

enum class Actor {
  nobody,
  owner_elsewhere,
  member_elsewhere,
  removed,
  suspended,
  foreign_key,
  member,
  admin,
  platform
};
inline constexpr std::array everybody = {
    Actor::nobody,  Actor::owner_elsewhere, Actor::member_elsewhere,
    Actor::removed, Actor::suspended,       Actor::foreign_key,
    Actor::member,  Actor::admin,           Actor::platform};
const char* name_of(Actor actor);
// Id in the requested organization.
bool is_inside(Actor actor);
// In the organization they act in; a key and a platform administrator act as owners of their own.
std::string role_of(Actor actor);

struct TenancyFixture {
  explicit TenancyFixture(ApiStack& stack_);

  // Real: with what the organization has; else with ids that nobody has. The organization that the
  // path names is the real one for those inside.
  std::string path_of(const PrintedRoute& route, bool is_real, Actor actor) const;
  // All that the organization's rows say, but its audit log.
  std::string contents() const;

  ApiStack& stack;
  TestUser owner, admin, member, removed, suspended, foreign_owner, foreign_member, platform;
  std::string org_id, foreign_org_id;
  std::map<Actor, Client> clients;
  std::map<std::string, std::string> values;  // by name in paths

 private:
  std::string made(const Client& client, const std::string& path, const std::string& body,
                   const std::string& id_name = "id");
  void make_callers();
  void make_things(const std::set<std::string>& known_routes);
};

}  // namespace hostler::testing_support
