// Rules and gateway settings, for operators; see ctl/gateway.h.
#include "ctl/gateway.h"

#include <fmt/format.h>

#include "ctl/answers.h"
#include "ctl/owner_session.h"
#include "lib/ids.h"
#include "lib/json.h"
#include "lib/loop/live_settings.h"
#include "lib/risk.h"
#include "queries/operator.h"
#include "queries/settings.h"

namespace hostler {
namespace {

OwnerSession open_session(const Settings& settings) {
  return open_migrated(settings.text("database.url"), "hostlerctl gateway");
}

std::string rule_json(const Row& rule) {
  JsonWriter json;
  json.begin_object();
  for (const char* name : {"id", "type", "cidr", "note", "created_at"}) {
    json.member(name, rule.text(name));
  }
  return json.end_object().take();
}

void print_setting(std::string_view name, const Settings& settings) {
  size_t index = find_setting(name);
  bool is_stored = settings.source(index) == SettingSource::database;
  print_out(fmt::format("{} = {}{}\n", name, setting_json(settings.value(index)),
                        is_stored ? "  (stored)" : ""));
}

int print_gateway(const Settings& settings, bool as_json) {
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
    json.member_raw(member, setting_json(settings.value(find_setting(name))));
  }
  print_out(json.end_object().take() + "\n");
  return exit_ok;
}

}  // namespace

int list_ip_rules_of(const Settings& settings, const IpRulesOrder& order) {
  OwnerSession owner = open_session(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result rules = owner.session->run(query::operator_ip_rules, Params().text(order.org));
  for (int i = 0; i < rules.size(); ++i) {
    Row rule = rules[i];
    print_out(order.as_json ? rule_json(rule) + "\n"
                            : fmt::format("{}  {:9}  {}  {}\n", rule.text("id"), rule.text("type"),
                                          rule.text("cidr"), rule.text("note")));
  }
  return exit_ok;
}

int delete_ip_rules_of(const Settings& settings, const IpRulesOrder& order) {
  if (order.rule_id.empty() != order.is_all) {
    return fail(exit_usage, "say either RULE_ID or --all");
  }
  if (!order.is_all && !is_uuid(order.rule_id)) {
    return fail(exit_usage, fmt::format("{} is no id of a rule", order.rule_id));
  }
  OwnerSession owner = open_session(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Params params;
  params.text(order.org);
  order.is_all ? params.null() : params.text(order.rule_id);
  Result removed = owner.session->run(query::operator_ip_rules_remove, params);
  std::string count(removed.text());
  print_out(order.as_json ? fmt::format("{{\"removed\":{}}}\n", count)
                          : fmt::format("{} of the organization's rules removed\n", count));
  return exit_ok;
}

int show_gateway(const Settings& settings, bool as_json) {
  OwnerSession owner = open_session(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  Result stored = owner.session->run(query::settings_all);
  return print_gateway(settings_with_stored(settings, stored, nullptr), as_json);
}

int reset_gateway(const Settings& settings, bool as_json) {
  OwnerSession owner = open_session(settings);
  if (!owner.session) return fail(exit_bad_input, owner.refusal);
  owner.session->run(query::operator_gateway_reset);
  return print_gateway(settings, as_json);
}

std::vector<std::string> gateway_doubts(const Settings& in_force, int64_t orgs_shut) {
  std::vector<std::string> doubts;
  double threshold = in_force.number("gateway.risk_reject_threshold");
  RiskFacts anonymous{"Mozilla/5.0", false, false};
  if (threshold > 0 && threshold <= risk_score(anonymous)) {
    doubts.push_back(
        fmt::format("risk_reject_threshold {} refuses every request without a token, "
                    "browsers' too: nobody can register",
                    threshold));
  }
  bool reads_headers = in_force.text("gateway.ip_mode") != "direct";
  if (reads_headers && in_force.strings("gateway.trusted_cidrs").empty()) {
    doubts.emplace_back("trusted_cidrs is empty: every client has the proxy's address");
  }
  if (orgs_shut > 0) {
    doubts.push_back(
        fmt::format("{} organizations block every address: hostlerctl ip-rules", orgs_shut));
  }
  return doubts;
}

}  // namespace hostler
