// Users as platform administrators find and read them. Routes:
//   GET /v1/admin/users                  GET /v1/admin/users/{user_id}
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// An administrator for all tests of this file: they come and go, it stays.
const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (char c : text) encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return encoded;
}

std::vector<std::string> ids_of(const Answer& answer) {
  std::vector<std::string> ids;
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json list = answer.json();
  if (list.as_array() == nullptr) return ids;
  for (const Json& item : *list.as_array()) ids.emplace_back(item.text_or("id"));
  return ids;
}

std::vector<std::string> found(std::string_view q, std::string_view further = "") {
  return ids_of(
      admin().client.get(fmt::format("/v1/admin/users?q={}{}", percent_encoded(q), further)));
}

// A user of that username, login and email.
std::string user_named(const std::string& login, const std::string& username) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE users SET login = '{0}', username = '{1}', email = '{0}@mail.example' WHERE id = "
      "'{2}'",
      login, username, user.id));
  return user.id;
}

using Ids = std::vector<std::string>;

TEST(AdminUsers, AreFoundByAnyPartOfLoginUsernameAndEmail) {
  std::string mark = new_name("find");
  std::string id = user_named(mark, "Zoë " + mark.substr(5) + " ÄÖ");
  EXPECT_EQ(found(mark), Ids{id});
  EXPECT_EQ(found(mark.substr(2, 12)), Ids{id});
  EXPECT_EQ(found("FIND" + mark.substr(4)), Ids{id}) << "in any case";
  EXPECT_EQ(found("zOË " + mark.substr(5, 6)), Ids{id});
  EXPECT_EQ(found(mark.substr(5) + " äö"), Ids{id});
  EXPECT_EQ(found(mark + "@MAIL.ex"), Ids{id});
  EXPECT_EQ(found(mark + "x"), Ids{});
  EXPECT_EQ(found(mark.substr(10) + " äözoë"), Ids{}) << "a part of one of them, not of several";
}

TEST(AdminUsers, AreFoundBySignsThatPatternsKnow) {
  std::string mark = new_name("p");
  std::string percent = user_named(mark + "%a", mark + "%a");
  std::string underscore = user_named(mark + "_a", mark + "_a");
  std::string backslash = user_named(mark + "\\a", mark + "\\a");
  std::string plain = user_named(mark + "ba", mark + "ba");
  EXPECT_EQ(found(mark + "%a"), Ids{percent});
  EXPECT_EQ(found(mark + "_a"), Ids{underscore});
  EXPECT_EQ(found(mark + "\\a"), Ids{backslash});
  EXPECT_EQ(found(mark + "ba"), Ids{plain});
  EXPECT_EQ(found(mark).size(), 4u);
}

TEST(AdminUsers, AreFoundByPartsThatAreTooShortForTrigrams) {
  std::string mark = new_name("short");
  std::string id = user_named(mark, mark + "\u9F98\u9750");
  EXPECT_EQ(found("\u9F98"), Ids{id});
  EXPECT_EQ(found("\u9F98\u9750"), Ids{id});
  EXPECT_EQ(found("\u9750\u9F98"), Ids{});
  std::string signs = user_named(mark + "-=-+", mark + "-=-+");
  EXPECT_EQ(found("-=-+"), Ids{signs});
}

TEST(AdminUsers, AreListedByStatusNewestFirstInPages) {
  std::string mark = new_name("page");
  std::string oldest = user_named(mark + "1", mark + "1");
  std::string middle = user_named(mark + "2", mark + "2");
  std::string newest = user_named(mark + "3", mark + "3");
  stack().sql().run_text(
      fmt::format("UPDATE users SET status = 'suspended' WHERE id = '{}'", middle));
  EXPECT_EQ(found(mark), (Ids{newest, middle, oldest}));
  EXPECT_EQ(found(mark, "&status=suspended"), Ids{middle});
  EXPECT_EQ(found(mark, "&status=active"), (Ids{newest, oldest}));
  EXPECT_EQ(found(mark, "&status=deleted"), Ids{});

  Answer first = admin().client.get("/v1/admin/users?limit=2&q=" + mark);
  EXPECT_EQ(ids_of(first), (Ids{newest, middle}));
  Answer second = admin().client.get(first.next_path());
  EXPECT_EQ(ids_of(second), Ids{oldest});
  EXPECT_EQ(second.next_path(), "");
  EXPECT_FALSE(ids_of(admin().client.get("/v1/admin/users?q=")).empty()) << "no filter";
}

TEST(AdminUsers, RefuseBadFilters) {
  const Client& client = admin().client;
  EXPECT_TRUE(has_fault(client.get("/v1/admin/users?limit=0"), "limit", "out_of_range"));
  EXPECT_TRUE(has_fault(client.get("/v1/admin/users?limit=201"), "limit", "out_of_range"));
  EXPECT_TRUE(has_fault(client.get("/v1/admin/users?cursor=x"), "cursor", "bad_format"));
  EXPECT_EQ(fault_count(client.get("/v1/admin/users?status=gone&limit=")), 2u);
  std::string long_text(255, 'a');
  EXPECT_TRUE(has_fault(client.get("/v1/admin/users?q=" + long_text), "q", "too_long"));
}

TEST(AdminUsers, AreShownWithTheirOrganizations) {
  TestUser user = register_user(stack());
  std::string work = make_workspace(stack(), admin());
  add_member(stack(), work, user, "member");
  Answer shown = admin().client.get("/v1/admin/users/" + user.id);
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.member("login"), user.login);
  EXPECT_EQ(shown.member("email"), user.email);
  EXPECT_EQ(shown.member("status"), "active");
  EXPECT_EQ(shown.member("email_verified"), "false");
  EXPECT_EQ(shown.member("platform_admin"), "false");
  EXPECT_EQ(shown.body.find("password"), std::string::npos);
  Json detail = shown.json();
  std::set<std::string> orgs;
  for (const Json& org : *detail.find("orgs")->as_array()) {
    orgs.insert(std::string(org.text_or("org_id")) + " " + std::string(org.text_or("role")));
  }
  EXPECT_EQ(orgs, (std::set<std::string>{user.org_id + " owner", work + " member"}));
  EXPECT_EQ(admin().client.get("/v1/admin/users/" + admin().id).member("platform_admin"), "true");
}

TEST(AdminUsers, AreShownToAdministratorsAlone) {
  TestUser user = register_user(stack());
  for (const std::string& path : Ids{"/v1/admin/users", "/v1/admin/users/" + user.id}) {
    SCOPED_TRACE(path);
    EXPECT_TRUE(is_problem(user.client.get(path), 403, "auth.forbidden"));
    EXPECT_TRUE(is_problem(stack().client().get(path), 401, "auth.missing_token"));
    Client key = stack().client().with_token(make_api_key(stack(), admin(), admin().org_id));
    EXPECT_TRUE(is_problem(key.get(path), 403, "auth.user_token_required"));
  }
  for (const std::string& id : Ids{"x", "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}) {
    EXPECT_TRUE(is_problem(admin().client.get("/v1/admin/users/" + id), 404, "users.not_found"));
    EXPECT_TRUE(is_problem(user.client.get("/v1/admin/users/" + id), 403, "auth.forbidden"));
  }
}

}  // namespace
}  // namespace hostler::testing_support
