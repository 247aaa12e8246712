// Plans and flags; see ctl/plans_and_flags.h.
#include "ctl/plans_and_flags.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/json.h"
#include "queries/feature_flags.h"
#include "queries/operator.h"

namespace hostler {
namespace {

std::string plan_text(const Json& plan) {
  std::string text = fmt::format("{}  {}  {}\n", plan.text_or("id"), plan.text_or("name"),
                                 plan.text_or("display_name"));
  const Json* entitlements = plan.find("entitlements");
  if (entitlements == nullptr || !entitlements->is_array()) return text;
  for (const Json& entitlement : *entitlements->as_array()) {
    text += fmt::format("    {} = {} ({})\n", entitlement.text_or("key"),
                        entitlement.text_or("value"), entitlement.text_or("value_type"));
  }
  return text;
}

int list_plans(const CommandCall& call) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl plan");
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result found = owner.session->run(query::OperatorPlans{});
  std::string list(found.text());
  if (call.as_json) return answer(true, list, "");
  std::optional<Json> plans = parse_json_or_nothing(list);
  if (!plans || !plans->is_array()) return fail(exit_software, "the plans cannot be read");
  for (const Json& plan : *plans->as_array()) print_out(plan_text(plan));
  return exit_ok;
}

int set_flag(const CommandCall& call, const std::string& key, bool value) {
  OwnerSession owner = open_migrated(call.settings().text("database.url"), "hostlerctl flag");
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->begin();
  owner.session->run(query::OperatorSetContext{});
  postgres::Result set =
      owner.session->run(query::FeatureFlagUpdate{.key = key, .default_value = value});
  std::string flag(set.text());
  owner.session->commit();
  return answer(call.as_json, flag, fmt::format("{} is {}\n", key, value));
}

}  // namespace

void add_plan_commands(CommandLine& line) {
  CommandWord plan = line.topic("plan", "show the plans");
  line.command(plan, "list", "each plan with its entitlements", list_plans);
  CommandWord flag = line.topic("flag", "set feature flags");
  auto key = std::make_shared<std::string>();
  auto value = std::make_shared<bool>(false);
  CommandWord set =
      line.command(flag, "set", "the value for organizations without an override",
                   [key, value](const CommandCall& call) { return set_flag(call, *key, *value); });
  set.add_option("KEY", *key, "the flag").required();
  set.add_option("VALUE", *value, "true or false").required().one_of({"true", "false"});
}

}  // namespace hostler
