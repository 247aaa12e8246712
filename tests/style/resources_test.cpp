// Postgres makes the JSON of resources, docs/openapi.yaml promises it: the same members in both.
// And the codes of failed runs and tools that the daemon uses stand in the document.
#include <gtest/gtest.h>

#include <array>
#include <regex>
#include <set>
#include <string>

#include "lib/config/settings_table.h"
#include "tests/style/contract.h"
#include "tests/style/source_text.h"

namespace hostler::style {
namespace {

struct Resource {
  std::string_view maker;   // a function in sql/schema
  std::string_view schema;  // in the document
};
constexpr auto resources = std::to_array<Resource>({
    {"thread_item", "Thread"},
    {"message_text", "Message"},
    {"run_item", "Run"},
    {"run_list_item", "RunListItem"},
    {"run_admin_json", "AdminRun"},
    {"turn_request_json", "TurnRequest"},
    {"llm_provider_json", "LlmProvider"},
    {"llm_model_json", "LlmModel"},
    {"persona_json", "Persona"},
    {"me_json", "Me"},
    {"org_json", "Org"},
    {"member_json", "Member"},
    {"invitation_json", "Invitation"},
    {"api_key_json", "ApiKey"},
    {"factor_json", "Factor"},
    {"audit_json", "AuditLog"},
    {"admin_user_json", "AdminUser"},
    {"admin_user_detail_json", "AdminUserDetail"},
    {"admin_invite_code_json", "AdminInviteCode"},
    {"referral_json", "Referral"},
    {"dashboard_json", "Dashboard"},
    {"webhook_json", "WebhookEndpoint"},
    {"webhook_delivery_json", "Delivery"},
});

// Where an SQL string or a bracketed piece that begins at `at` ends; `at` itself for anything else.
size_t skip_piece(const std::string& sql, size_t at) {
  if (sql[at] == '(') return closing_of(sql, at);
  if (sql[at] == '\'') return sql.find('\'', at + 1);
  return at;
}

// The names of json_build_object('name', value, …), of the first one in the text.
std::set<std::string> members_built_in(const std::string& sql) {
  std::set<std::string> names;
  size_t at = sql.find("json_build_object(");
  if (at == sql.npos) return names;
  at = sql.find('(', at) + 1;
  bool is_name = true;
  for (; at < sql.size() && sql[at] != ')'; ++at) {
    size_t end = std::min(skip_piece(sql, at), sql.size() - 1);
    if (is_name && sql[at] == '\'') names.insert(sql.substr(at + 1, end - at - 1));
    if (sql[at] == ',') is_name = !is_name;
    at = end;
  }
  return names;
}

// The names in text that is glued: concat('{"name":', value, …). One that an object of its own has
// is made by json_build_object().
std::set<std::string> members_glued_in(const std::string& sql) {
  static const std::regex member(R"re("(\w+)":)re");
  std::set<std::string> names;
  for (std::sregex_iterator at(sql.begin(), sql.end(), member), end; at != end; ++at) {
    names.insert(at->str(1));
  }
  return names;
}

// RETURNS TABLE (id uuid, …): the columns are the members (fcgi/http/items.h).
std::set<std::string> members_of_row(const std::string& sql) {
  std::set<std::string> names;
  size_t begin = sql.find("RETURNS TABLE (") + std::string_view("RETURNS TABLE (").size();
  std::string columns = sql.substr(begin, sql.find(')', begin) - begin);
  static const std::regex column(R"(([a-z_0-9]+) [a-z]+)");
  for (std::sregex_iterator at(columns.begin(), columns.end(), column), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

std::set<std::string> members_in(const std::string& sql) {
  if (sql.find("RETURNS TABLE (") != sql.npos) return members_of_row(sql);
  return sql.find("concat('{") != sql.npos ? members_glued_in(sql) : members_built_in(sql);
}

// The text of the newest definition of a function, or empty.
std::string definition_of(std::string_view maker) {
  std::string found;
  for (const SourceFile& file : source_tree()) {
    if (!file.path.starts_with("sql/schema/")) continue;
    std::regex head("CREATE OR REPLACE FUNCTION " + std::string(maker) + R"(\()");
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), head), end; at != end; ++at) {
      size_t begin = static_cast<size_t>(at->position());
      found = file.text.substr(begin, file.text.find("\n$$;", begin) - begin);
    }
  }
  return found;
}

std::set<std::string> members_of_schema(const Json& document, std::string_view name) {
  const Json& schemas = member_or_null(member_or_null(document, "components"), "schemas");
  const Json::Object* members =
      member_or_null(member_or_null(schemas, name), "properties").as_object();
  std::set<std::string> names;
  if (members == nullptr) return names;
  for (const Json::Member& member : *members) names.insert(member.first);
  return names;
}

TEST(Resources, HaveTheMembersThatTheDocumentNames) {
  Json document = openapi_document();
  for (const Resource& resource : resources) {
    std::set<std::string> built = members_in(definition_of(resource.maker));
    EXPECT_GT(built.size(), 3u) << resource.maker << ": not found in sql/schema";
    EXPECT_EQ(built, members_of_schema(document, resource.schema))
        << resource.maker << " and " << resource.schema;
  }
}

TEST(Resources, AlwaysHoldEveryMember) {
  Json document = openapi_document();
  const Json& schemas = member_or_null(member_or_null(document, "components"), "schemas");
  for (const Resource& resource : resources) {
    std::set<std::string> required;
    const Json::Array* names =
        member_or_null(member_or_null(schemas, resource.schema), "required").as_array();
    ASSERT_NE(names, nullptr) << resource.schema;
    for (const Json& name : *names) required.insert(*name.as_text());
    EXPECT_EQ(required, members_of_schema(document, resource.schema))
        << resource.schema << ": unset members are null";
  }
}

TEST(Resources, AreReadFromSql) {
  std::set<std::string> names =
      members_in("SELECT json_build_object('id', r.id, 'at', f(r.a, 'x'), 'last', 'v, w')");
  EXPECT_EQ(names, (std::set<std::string>{"id", "at", "last"}));
  std::set<std::string> glued =
      members_in("SELECT concat('{\"id\":\"', r.id, '\",\"at\":', f(r.a), ',\"last\":', r.b, '}')");
  EXPECT_EQ(glued, (std::set<std::string>{"id", "at", "last"}));
  std::set<std::string> row = members_in(
      "f(t threads) RETURNS TABLE (id uuid, at timestamptz,\n    last double precision) LANGUAGE");
  EXPECT_EQ(row, (std::set<std::string>{"id", "at", "last"}));
}

// Names of events are spelled like codes.
std::set<std::string> event_types(const Json& document) {
  const Json& schemas = member_or_null(member_or_null(document, "components"), "schemas");
  const Json& mapping = member_or_null(
      member_or_null(member_or_null(schemas, "RunEvent"), "discriminator"), "mapping");
  std::set<std::string> types;
  if (mapping.as_object() == nullptr) return types;
  for (const Json::Member& member : *mapping.as_object()) types.insert(member.first);
  return types;
}

TEST(Failures, OfRunsAndToolsStandInTheDocument) {
  Json document = openapi_document();
  const Json& schemas = member_or_null(member_or_null(document, "components"), "schemas");
  std::string reported(member_or_null(schemas, "RunError").text_or("description"));
  std::set<std::string> events = event_types(document);
  ASSERT_FALSE(events.empty());
  static const std::regex code(R"((run|model|tool|credits)\.[a-z_]+)");
  std::string silent;
  for (const SourceFile& file : source_tree()) {
    if (!file.path.starts_with("runner/") || !is_cpp(file.path)) continue;
    for (const Piece& piece : take_apart(file.text).strings) {
      bool is_code = std::regex_match(piece.text, code) && !events.contains(piece.text) &&
                     config::find_setting(piece.text) == config::setting_count;
      if (is_code && reported.find("`" + piece.text + "`") == reported.npos)
        silent += "  " + piece.text + " (" + file.path + ")\n";
    }
  }
  EXPECT_EQ(silent, "") << "name these in docs/openapi.yaml, schema RunError";
}

}  // namespace
}  // namespace hostler::style
