// A user with one of everything that writing routes change, and the calls that write it: for the
// stress test of tests/api/accounts/user_end_stress_test.cpp. The user owns a workspace together
// with a keeper, who stays, and is platform administrator, so that every route is open to them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/writing_calls.h"

namespace hostler::testing_support {

// Shared part of all fixtures of a stack: the user who stays, and ends users.
struct Keeper {
  explicit Keeper(ApiStack& stack);
  TestUser admin;
  std::string org_id;         // a workspace that invites
  std::string password;       // of every user of a fixture
  std::string password_hash;  // of it
  int fixtures = 0;
};

class UserEndFixture {
 public:
  UserEndFixture(ApiStack& stack, Keeper& keeper);

  const std::string& user_id() const { return user_id_; }
  const std::string& org_id() const { return org_id_; }  // the workspace
  // By the user, or a key of theirs; names_org: the workspace in X-Org-Id.
  Call call(const WritingCall& wanted, bool by_key, bool names_org) const;
  // Returns what was written for the user by a transaction behind the one that ended them, as lines
  // "table: rows"; in_workspace: of the workspace alone.
  std::string written_behind_the_end(bool in_workspace) const;

 private:
  void make_user();
  void make_things();
  void make_runs();
  std::string waiting_run(std::string_view request);
  std::string token_of_invitation(const std::string& email);
  std::string filled(std::string_view text) const;
  std::string made(const std::string& path, const std::string& body, std::string_view id = "id");
  std::string end_transaction() const;

  ApiStack& stack_;
  Keeper& keeper_;
  int number_;
  std::string user_id_, org_id_, personal_org_id_;
  std::string token_, other_token_;  // of two sessions: one logs out
  Client client_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace hostler::testing_support
