// Organizations and their members. Statements: sql/queries/orgs.sql.
#include <algorithm>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "lib/json.h"
#include "queries/orgs.h"

namespace hostler {
namespace {

constexpr TextBounds slug_bounds{.min = 1, .max = 64};
constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};

bool is_slug(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void check_slug(Fields& fields, std::string_view slug) {
  if (!is_slug(slug)) {
    fields.fault("slug", "bad_format", "must be lower-case letters, digits and hyphens");
  }
}

}  // namespace

OneStatement create_org(const Input& input) {
  Fields fields = input.body();
  std::string slug = fields.required_text("slug", slug_bounds);
  std::string name = fields.required_text("name", name_bounds);
  check_slug(fields, slug);
  fields.check();
  int64_t grant = input.settings.integer("credit.workspace_grant");
  int64_t workspaces = input.settings.integer("limit.workspaces_per_user");
  return OneStatement::row(query::OrgCreate{.slug = slug,
                                            .name = name,
                                            .credit_workspace_grant = grant,
                                            .limit_workspaces_per_user = workspaces},
                           201);
}

OneStatement list_orgs(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::OrgPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_org(const Input&) { return OneStatement::row(query::OrgShow{}); }

OneStatement update_org(const Input& input) {
  Fields fields = input.body();
  std::optional<std::string> slug = fields.optional_text("slug", slug_bounds);
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  std::optional<bool> require_factor = fields.optional_boolean("require_factor");
  if (slug) check_slug(fields, *slug);
  fields.check_patch();
  JsonWriter changes;
  changes.begin_object();
  if (slug) changes.member("slug", *slug);
  if (name) changes.member("name", *name);
  if (require_factor) changes.member("require_factor", *require_factor);
  changes.end_object();
  return OneStatement::row(query::OrgUpdate{.changes = changes.take()});
}

OneStatement list_members(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::MemberPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement update_member(const Input& input) {
  Fields fields = input.body();
  std::optional<std::string> role = fields.optional_choice("role", {"owner", "admin", "member"});
  fields.check_patch();
  return OneStatement::row(
      query::MemberUpdate{.user_id = input.path_value("user_id"), .role = *role});
}

OneStatement remove_member(const Input& input) {
  return OneStatement::no_content(query::MemberRemove{.user_id = input.path_value("user_id")});
}

}  // namespace hostler
