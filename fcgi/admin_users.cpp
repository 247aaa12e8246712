// Users, for platform administrators. Statements: sql/queries/admin_users.sql.
#include <array>
#include <optional>
#include <utility>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/account_rules.h"
#include "lib/json.h"
#include "queries/admin_users.h"
#include "queries/runs.h"

namespace hostler {
namespace {

// Longer than any rule: the rules of lib/account_rules tell the fault.
constexpr TextBounds any_text{.most = 100'000, .takes_control = true};

struct Member {
  std::string_view name;
  std::optional<TextFault> (*judge)(std::string_view);
};
constexpr std::array members{
    Member{"username", name_fault},
    Member{"email", email_fault},
    Member{"locale", locale_fault},
    Member{"timezone", timezone_fault},
};

// What changes, as the database's function takes it.
std::string read_changes(const Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter changes;
  changes.begin_object();
  std::optional<std::string> status = fields.optional_choice("status", {"active", "suspended"});
  if (status) changes.member("status", *status);
  for (const Member& member : members) {
    std::optional<std::string> value = fields.optional_text(member.name, any_text);
    if (!value) continue;
    if (member.name == "username") value = trimmed_name(*value);
    std::optional<TextFault> fault = member.judge(*value);
    if (fault) fields.fault(member.name, std::move(fault->code), std::move(fault->message));
    changes.member(member.name, *value);
  }
  std::optional<bool> is_verified = fields.optional_boolean("email_verified");
  if (is_verified) changes.member("email_verified", *is_verified);
  fields.check_patch();
  return changes.end_object().take();
}

}  // namespace

Task<Response> list_users(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text_or_null(query.text("q", {.most = 254}));
  params.text_or_null(query.choice("status", {"active", "suspended", "deleted"}));
  return list_page(services, request, std::move(query), query::admin_user_page, std::move(params),
                   "cursor");
}

Task<Response> show_user(Services& services, Request& request) {
  return one_row(services, request, query::admin_user_show,
                 Params().text(request.path_value("user_id")));
}

Task<Response> update_user(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("user_id")).text(read_changes(request));
  Result changed = co_await services.query(request, query::admin_user_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

// Daemons and followers of the user's runs are told.
Task<Response> delete_user(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("user_id"));
  Result deleted = co_await services.query(request, query::admin_user_delete, std::move(params));
  Params stopped;
  stopped.text(deleted.front().text("stopped"));
  services.ring(request, query::run_control_bell, std::move(stopped));
  co_return Response::no_content();
}

}  // namespace hostler
