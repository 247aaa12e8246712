// The parameters of statements of SCIM, as tests/sql/plan_values.h has those of all others. For that
// file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

namespace hostler {

// ask: answers an SQL expression of the database of many_rows.sql. org is the organization that
// acts, an id in quotes.
inline void add_scim_plan_values(std::map<std::string, std::string>& by_name,
                                 const std::function<std::string(const std::string&)>& ask,
                                 const std::string& org) {
  std::string invited =
      ask("quote_literal(id) FROM scim_users WHERE user_id IS NULL AND org_id = " + org +
          " ORDER BY id LIMIT 1");
  std::string group = ask("quote_literal(id) FROM scim_groups WHERE org_id = " + org + " LIMIT 1");
  const std::string settings =
      "'{\"limit.members\": 10000, \"invite.member_seconds\": 60, "
      "\"limit.invitations_per_inviter_day\": 20, \"limit.invitations_per_recipient_day\": 3, "
      "\"registration\": \"open\"}'::jsonb";
  const std::string wanted =
      "'{{\"user_name\": \"{0}\", \"attributes\": {{}}, \"email\": \"{0}\", \"email_key\": "
      "\"{0}\", \"email_keys\": [\"{0}\"]}}'::jsonb";
  by_name.insert({
      {"scim_authenticate.token_hash",
       fmt::format("sha256(convert_to('scim' || {}, 'UTF8'))", org)},
      {"scim_token_create.token_hash", "sha256('new')"},
      {"scim_token_create.expires_at", "clock_timestamp() + interval '1 day'"},
      {"token_prefix", "'hsc_0000'"},
      {"scim_token_id", ask("quote_literal(id) FROM scim_tokens WHERE org_id = " + org)},
      {"scim_id", invited},
      {"scim_group_guard.scim_id", group},
      {"scim_group_show.scim_id", group},
      {"scim_group_write.scim_id", group},
      {"scim_group_delete.scim_id", group},
      {"conditions", "'{\"external_id\": \"x2\"}'::jsonb"},
      {"scim_group_page.conditions", "'{\"display_name\": \"group 1\"}'::jsonb"},
      {"start_index", "1"},
      {"is_void", "false"},
      {"with_members", "true"},
      {"steps", fmt::format("jsonb_build_array(jsonb_build_object('do', 'add', 'ids', "
                            "jsonb_build_array({})))",
                            invited)},
      {"scim_user_create.wanted", fmt::format(fmt::runtime(wanted), "new@scim.example")},
      {"scim_user_put.wanted", fmt::format(fmt::runtime(wanted), "other@scim.example")},
      {"scim_user_create.facts", "'{}'::jsonb"},
      {"scim_user_put.facts", "'{}'::jsonb"},
      {"scim_user_create.settings", settings},
      {"scim_user_put.settings", settings},
  });
}

}  // namespace hostler
