// SCIM groups, and a whole company that is provisioned, changed and removed. Routes:
//   GET /v1/scim/v2/Groups    POST /v1/scim/v2/Groups
//   GET /v1/scim/v2/Groups/{resource_id}    PUT /v1/scim/v2/Groups/{resource_id}
//   PATCH /v1/scim/v2/Groups/{resource_id}    DELETE /v1/scim/v2/Groups/{resource_id}
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "lib/http/request_target.h"
#include "tests/support/rows/scim_rows.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string role_of(const ScimCompany& company, const std::string& email) {
  return sql_value(stack(), fmt::format("SELECT coalesce(max(m.role), 'none') FROM org_members m "
                                        "JOIN users u ON u.id = m.user_id WHERE m.org_id = '{}' "
                                        "AND u.email = '{}'",
                                        company.org_id, email));
}

std::string members_json(const std::vector<std::string>& ids) {
  std::string json = "[";
  for (const std::string& id : ids) {
    json += fmt::format(R"({}{{"value":"{}"}})", json.size() > 1 ? "," : "", id);
  }
  return json + "]";
}

std::string make_group(const ScimCompany& company, const std::string& name,
                       const std::vector<std::string>& ids) {
  Answer made = company.post(
      "/Groups", fmt::format(R"({{"displayName":"{}","members":{}}})", name, members_json(ids)));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

TEST(ScimGroups, GiveRolesByTheRoleMap) {
  ScimCompany company = make_scim_company(stack());
  map_roles(stack(), company, R"({"Admins":"admin","guid-1":"admin","Staff":"member"})");
  std::string name = new_name("barbara");
  std::string email = company.address(name);
  std::string id = company.provision(name);
  std::string group = make_group(company, "Admins", {id});
  EXPECT_EQ(role_of(company, email), "admin");
  EXPECT_EQ(company.get("/Users/" + id).json().find("groups")->as_array()->size(), 1U);
  EXPECT_EQ(company
                .patch("/Groups/" + group,
                       fmt::format(R"({{"op":"remove","path":"members[value eq \"{}\"]"}})", id))
                .status,
            204);
  EXPECT_EQ(role_of(company, email), "member");
  company.patch("/Groups/" + group,
                fmt::format(R"({{"op":"Add","path":"members","value":[{{"value":"{}"}}]}})", id));
  EXPECT_EQ(role_of(company, email), "admin");
  company.patch("/Groups/" + group, R"({"op":"replace","value":{"displayName":"Others"}})");
  EXPECT_EQ(role_of(company, email), "member") << "the map does not name it any more";
  company.patch("/Groups/" + group, R"({"op":"add","path":"externalId","value":"guid-1"})");
  EXPECT_EQ(role_of(company, email), "admin") << "it names its external id";
  company.patch("/Users/" + id, R"({"op":"replace","path":"active","value":false})");
  company.patch("/Users/" + id, R"({"op":"replace","path":"active","value":true})");
  EXPECT_EQ(role_of(company, email), "admin") << "also of a membership that began again";
  EXPECT_EQ(company.send("DELETE", "/Groups/" + group).status, 204);
  EXPECT_EQ(role_of(company, email), "member");
}

TEST(ScimGroups, NeverTouchOwnersAdministratorsAndRolesOfPeople) {
  ScimCompany company = make_scim_company(stack());
  map_roles(stack(), company, R"({"Staff":"member"})");
  TestUser platform = register_admin(stack());
  TestUser chosen = register_user(stack());
  add_member(stack(), company.org_id, platform, "admin");
  add_member(stack(), company.org_id, chosen, "admin");
  std::string group = make_group(company, "Other", {company.owner.id, platform.id, chosen.id});
  EXPECT_EQ(role_of(company, chosen.email), "admin") << "a group without a role gives none";
  company.patch("/Groups/" + group, R"({"op":"replace","path":"displayName","value":"Staff"})");
  EXPECT_EQ(role_of(company, company.owner.email), "owner");
  EXPECT_EQ(role_of(company, platform.email), "admin");
  EXPECT_EQ(role_of(company, chosen.email), "member");
}

TEST(ScimGroups, AreShownFoundAndReplaced) {
  ScimCompany company = make_scim_company(stack());
  std::string a = company.provision(new_name("a"));
  std::string b = company.provision(new_name("b"));
  std::string group = make_group(company, "Engineering", {a});
  auto total = [&](const std::string& filter) {
    return company.get("/Groups?filter=" + http::percent_encoded(filter)).member("totalResults");
  };
  EXPECT_EQ(total("displayName eq \"engineering\""), "1");
  EXPECT_EQ(total(fmt::format("id eq \"{}\" and members eq \"{}\"", group, a)), "1");
  EXPECT_EQ(total(fmt::format("id eq \"{}\" and members eq \"{}\"", group, b)), "0");
  EXPECT_TRUE(
      is_scim_error(company.get("/Groups?filter=" + http::percent_encoded("title eq \"x\"")), 400,
                    "invalidFilter"));
  Json shown = company.get("/Groups/" + group).json();
  EXPECT_EQ(shown.find("members")->as_array()->front().text_or("value"), a);
  Json bare = company.get("/Groups/" + group + "?excludedAttributes=members").json();
  EXPECT_EQ(bare.find("members"), nullptr);
  Answer put = company.send("PUT", "/Groups/" + group,
                            R"({"displayName":"Research","members":)" + members_json({b}) + "}");
  EXPECT_EQ(put.json().find("members")->as_array()->front().text_or("value"), b);
  EXPECT_TRUE(
      is_scim_error(company.post("/Groups", R"({"displayName":"research"})"), 409, "uniqueness"));
  EXPECT_TRUE(is_scim_error(company.post("/Groups", "{}"), 400, "invalidValue"));
  ScimCompany other = make_scim_company(stack());
  EXPECT_TRUE(is_scim_error(
      other.post("/Groups", R"({"displayName":"x","members":)" + members_json({a}) + "}"), 400,
      "invalidValue"))
      << "users of another organization are nobody";
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_TRUE(is_scim_error(other.send(method, "/Groups/" + group), 404, ""));
  }
  EXPECT_TRUE(is_scim_error(other.send("PUT", "/Groups/" + group, "nonsense"), 404, ""));
  EXPECT_TRUE(is_scim_error(other.patch("/Groups/" + group, "{}"), 404, ""));
}

// The organization as random changes should leave it.
struct Model {
  std::map<std::string, bool> active;                    // by id
  std::map<std::string, std::string> emails;             // by id
  std::map<std::string, std::set<std::string>> members;  // of groups, by id
};

TEST(ScimCompanies, AreWhatTheirServiceMadeOfThem) {
  constexpr int users = 60;
  constexpr int groups = 6;
  ScimCompany company = make_scim_company(stack());
  Model model;
  std::vector<std::string> ids, group_ids;
  for (int i = 0; i < users; ++i) {
    std::string name = new_name("staff");
    ids.push_back(company.provision(name));
    model.active[ids.back()] = true;
    model.emails[ids.back()] = company.address(name);
  }
  for (int i = 0; i < groups; ++i) group_ids.push_back(make_group(company, new_name("group"), {}));
  std::mt19937 random(49);
  for (int i = 0; i < 150; ++i) {
    const std::string& id = ids[random() % ids.size()];
    const std::string& group = group_ids[random() % group_ids.size()];
    switch (random() % 3) {
      case 0: {
        bool active = random() % 2 == 0;
        model.active[id] = active;
        EXPECT_EQ(company
                      .patch("/Users/" + id,
                             fmt::format(R"({{"op":"Replace","path":"active","value":"{}"}})",
                                         active ? "True" : "False"))
                      .status,
                  200);
        break;
      }
      case 1:
        model.members[group].insert(id);
        EXPECT_EQ(company
                      .patch("/Groups/" + group,
                             R"({"op":"add","path":"members","value":)" + members_json({id}) + "}")
                      .status,
                  204);
        break;
      default:
        model.members[group].erase(id);
        EXPECT_EQ(
            company
                .patch("/Groups/" + group,
                       fmt::format(R"({{"op":"remove","path":"members[value eq \"{}\"]"}})", id))
                .status,
            204);
    }
  }
  for (const auto& [id, active] : model.active) {
    EXPECT_EQ(company.get("/Users/" + id).member("active"), active ? "true" : "false");
    EXPECT_EQ(role_of(company, model.emails[id]), active ? "member" : "none");
  }
  for (const std::string& group : group_ids) {
    std::set<std::string> shown;
    Json json = company.get("/Groups/" + group).json();
    for (const Json& one : *json.find("members")->as_array()) shown.emplace(one.text_or("value"));
    EXPECT_EQ(shown, model.members[group]);
  }
}

}  // namespace
}  // namespace hostler::testing_support
