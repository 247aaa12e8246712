// Rules and gateway settings, for operators; see ctl/gateway.h.
#include "ctl/gateway.h"

#include <memory>

#include <fmt/format.h>

#include "ctl/output.h"
#include "ctl/owner_session.h"
#include "lib/account/account_rules.h"
#include "lib/client/risk.h"
#include "lib/config/live_settings.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "queries/operator.h"
#include "queries/settings.h"

namespace hostler {
namespace {

OwnerSession open_session(const config::Settings& settings) {
  return open_migrated(settings.text("database.url"), "hostlerctl gateway");
}

void write_rule(JsonWriter& json, const postgres::Row& rule) {
  json.begin_object();
  for (const char* name : {"id", "type", "cidr", "note", "created_at"}) {
    json.member(name, rule.text(name));
  }
  json.end_object();
}

void print_setting(std::string_view name, const config::Settings& settings) {
  size_t index = config::find_setting(name);
  bool is_stored = settings.source(index) == config::SettingSource::database;
  print_out(fmt::format("{} = {}{}\n", name, config::setting_json(settings.value(index)),
                        is_stored ? "  (stored)" : ""));
}

int print_gateway(const config::Settings& settings, bool as_json) {
  constexpr std::string_view names[] = {"gateway.ip_mode", "gateway.trusted_cidrs",
                                        "gateway.risk_reject_threshold"};
  if (!as_json) {
    for (std::string_view name : names) print_setting(name, settings);
    return exit_ok;
  }
  JsonWriter json;
  json.begin_object();
  for (std::string_view name : names) {
    std::string_view member = name.substr(name.find('.') + 1);
    json.member_raw(member, config::setting_json(settings.value(config::find_setting(name))));
  }
  print_out(json.end_object().take() + "\n");
  return exit_ok;
}

struct IpRulesOrder {
  std::string org;      // id, slug, or a login for somebody's personal organization
  std::string rule_id;  // to delete
  bool is_all = false;  // delete: every rule
};

int list_ip_rules_of(const CommandCall& call, const IpRulesOrder& order) {
  OwnerSession owner = open_session(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result rules =
      owner.session->run(query::OperatorIpRules{.org_name = account::login_key(order.org)});
  std::string lines;
  JsonWriter json;
  json.begin_array();
  for (int i = 0; i < rules.size(); ++i) {
    postgres::Row rule = rules[i];
    write_rule(json, rule);
    lines += fmt::format("{}  {:9}  {}  {}\n", rule.text("id"), rule.text("type"),
                         rule.text("cidr"), rule.text("note"));
  }
  json.end_array();
  return answer(call.as_json, json.take(), lines);
}

int delete_ip_rules_of(const CommandCall& call, const IpRulesOrder& order) {
  if (order.rule_id.empty() != order.is_all) {
    return fail(exit_usage, "give either RULE_ID or --all");
  }
  if (!order.is_all && !is_uuid(order.rule_id)) {
    return fail(exit_usage, fmt::format("{} is not the id of a rule", order.rule_id));
  }
  OwnerSession owner = open_session(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  std::optional<std::string> rule_id;
  if (!order.is_all) rule_id = order.rule_id;
  postgres::Result removed = owner.session->run(
      query::OperatorIpRulesRemove{.org_name = account::login_key(order.org), .rule_id = rule_id});
  std::string count(removed.text());
  return answer(call.as_json, fmt::format("{{\"removed\":{}}}", count),
                fmt::format("{} of the organization's rules removed\n", count));
}

int show_gateway(const CommandCall& call) {
  OwnerSession owner = open_session(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  postgres::Result stored = owner.session->run(query::SettingsAll{});
  return print_gateway(config::settings_with_stored(call.settings(), stored, nullptr),
                       call.as_json);
}

int reset_gateway(const CommandCall& call) {
  OwnerSession owner = open_session(call.settings());
  if (!owner.session) return fail(owner.status, owner.refusal);
  owner.session->run(query::OperatorGatewayReset{});
  return print_gateway(call.settings(), call.as_json);
}

}  // namespace

void add_gateway_commands(CommandLine& line) {
  CommandWord rules = line.topic("ip-rules", "an organization's IP rules");
  constexpr const char* named = "id or slug, or a login for that user's own";
  auto order = std::make_shared<IpRulesOrder>();
  CommandWord list = line.command(rules, "list", "show them", [order](const CommandCall& call) {
    return list_ip_rules_of(call, *order);
  });
  list.add_option("ORG", order->org, named).required();
  CommandWord remove =
      line.command(rules, "delete", "remove one or all of them",
                   [order](const CommandCall& call) { return delete_ip_rules_of(call, *order); });
  remove.add_option("ORG", order->org, named).required();
  remove.add_option("RULE_ID", order->rule_id, "which one");
  remove.add_flag("--all", order->is_all, "all of them");
  CommandWord gateway = line.topic("gateway", "how clients are recognized");
  line.command(gateway, "show", "the settings in force", show_gateway);
  line.command(gateway, "reset", "remove the settings that administrators stored", reset_gateway);
}

std::vector<std::string> gateway_doubts(const config::Settings& in_force,
                                        const postgres::Row& orgs_shut) {
  std::vector<std::string> doubts;
  double threshold = in_force.number("gateway.risk_reject_threshold");
  client::RiskFacts anonymous{"Mozilla/5.0", false, false};
  if (threshold > 0 && threshold <= client::risk_score(anonymous)) {
    doubts.push_back(
        fmt::format("risk_reject_threshold {} refuses every request without a token, "
                    "browsers' too: nobody can register",
                    threshold));
  }
  bool reads_headers = in_force.text("gateway.ip_mode") != "direct";
  if (reads_headers && in_force.strings("gateway.trusted_cidrs").empty()) {
    doubts.emplace_back("trusted_cidrs is empty: every client has the proxy's address");
  }
  int64_t count = orgs_shut.integer("orgs");
  if (count > 0) {
    doubts.push_back(fmt::format(
        "{} with rules that block all of IPv4, all of IPv6 or all that they allow "
        "({}{}): hostlerctl ip-rules list ORG",
        count_text(count, "organization"), orgs_shut.text("slugs"), count > 5 ? ", …" : ""));
  }
  return doubts;
}

}  // namespace hostler
