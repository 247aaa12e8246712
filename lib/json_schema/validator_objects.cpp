// Objects, and what several schemas say of one value. See lib/json_schema/validator.h.
#include <algorithm>

#include <fmt/format.h>

#include "lib/json_schema/validator.h"
#include "lib/json_schema/validator_words.h"

namespace hostler::json_schema {
namespace {

constexpr size_t member_work = 40;
constexpr size_t explained_max = 4;

// Returns the rule of the name, or the number of rules if it has none.
size_t rule_of(const ObjectRules& rules, std::string_view name) {
  auto at = std::lower_bound(
      rules.members.begin(), rules.members.end(), name,
      [](const MemberRule& rule, std::string_view wanted) { return rule.name < wanted; });
  bool is_there = at != rules.members.end() && at->name == name;
  return static_cast<size_t>((is_there ? at : rules.members.end()) - rules.members.begin());
}

std::string unknown_words(const ObjectRules& rules, std::string_view name) {
  std::vector<std::string_view> known;
  for (const MemberRule& rule : rules.members) {
    if (rule.schema != no_node) known.push_back(rule.name);
  }
  std::string words =
      fmt::format("the member {} is not allowed here; remove it", listed_names({name}));
  if (!known.empty()) words += "; known are " + listed_names(known);
  return words;
}

}  // namespace

bool Validator::check_object(const ObjectRules& rules, const At& at) {
  const Json::Object& object = *at.value.as_object();
  bool is_good = check_counts(rules.counts, object.size(), "member", at);
  std::vector<bool> met(rules.members.size());
  for (const Json::Member& member : object) {
    if (is_exhausted_ || (!is_good && at.faults == nullptr)) return false;
    const Path inner{.outer = &at.path, .name = member.first, .is_name = true};
    is_good = check_member(rules, member, met, {member.second, inner, at.faults}) && is_good;
    is_good = check_name(rules, member.first, at) && is_good;
  }
  if (!is_good && at.faults == nullptr) return false;
  return check_met(rules, met, at) && is_good;
}

bool Validator::check_member(const ObjectRules& rules, const Json::Member& member,
                             std::vector<bool>& met, const At& at) {
  if (!spend(member_work + member.first.size())) return false;
  bool is_good = true;
  bool is_known = false;
  size_t index = rule_of(rules, member.first);
  if (index < met.size()) {
    met[index] = true;
    NodeId schema = rules.members[index].schema;
    is_known = schema != no_node;
    is_good = !is_known || fits(schema, at);
  }
  for (const auto& [pattern, schema] : rules.patterns) {
    if (!is_good && at.faults == nullptr) return false;
    if (!is_found(*pattern, member.first)) continue;
    is_known = true;
    is_good = fits(schema, at) && is_good;
  }
  if (is_known || rules.additional == no_node) return is_good;
  if (!compiled_.nodes[rules.additional].is_never) return fits(rules.additional, at) && is_good;
  return fail({at.value, *at.path.outer, at.faults}, "additionalProperties",
              [&] { return unknown_words(rules, member.first); });
}

bool Validator::check_name(const ObjectRules& rules, const std::string& name, const At& at) {
  if (rules.names == no_node || !spend(name.size())) return true;
  const Json value(name);
  name_key_ = last_name_key_ += 2;
  bool is_good = fits_quietly(rules.names, {value, at.path, nullptr});
  Faults inner{.max = 1, .explains = false};
  if (!is_good && at.faults != nullptr) fits(rules.names, {value, at.path, &inner});
  name_key_ = 0;
  if (is_good) return true;
  return fail(at, "propertyNames", [&] {
    return fmt::format("the member's name {} {}", listed_names({name}),
                       inner.list.empty() ? "does not fit" : inner.list[0].message);
  });
}

bool Validator::check_met(const ObjectRules& rules, const std::vector<bool>& met, const At& at) {
  if (!spend(met.size() * 4)) return false;
  bool is_good = true;
  for (size_t i = 0; i < met.size(); ++i) {
    const MemberRule& rule = rules.members[i];
    if (rule.is_required && !met[i]) {
      is_good = fail(at, "required", [&] {
        return fmt::format("the member {} is missing", listed_names({rule.name}));
      });
    }
    if (!met[i] || rule.needs.empty() || !spend(rule.needs.size() * member_work)) continue;
    for (const std::string& need : rule.needs) {
      if (met[rule_of(rules, need)]) continue;
      is_good = fail(at, "dependentRequired", [&] {
        return fmt::format("the member {} is missing; it is required beside {}",
                           listed_names({need}), listed_names({rule.name}));
      });
    }
    if (!is_good && at.faults == nullptr) return false;
  }
  return is_good;
}

bool Validator::check_applied(const Applied& applied, const At& at) {
  bool is_good = true;
  for (NodeId id : applied.all_of) {
    is_good = fits(id, at) && is_good;
    if (!is_good && at.faults == nullptr) return false;
  }
  if (!applied.any_of.empty()) is_good = check_any_of(applied, at) && is_good;
  if (!is_good && at.faults == nullptr) return false;
  if (!applied.one_of.empty()) is_good = check_one_of(applied, at) && is_good;
  if (!is_good && at.faults == nullptr) return false;
  if (applied.none != no_node && fits_quietly(applied.none, at)) {
    is_good = fail(at, "not", [] { return "fits the schema of not, which it must not"; });
  }
  if (applied.condition == no_node) return is_good;
  NodeId id = fits_quietly(applied.condition, at) ? applied.then : applied.otherwise;
  return (id == no_node || fits(id, at)) && is_good;
}

bool Validator::check_any_of(const Applied& applied, const At& at) {
  for (NodeId id : applied.any_of) {
    if (fits_quietly(id, at)) return true;
    if (is_exhausted_) return false;
  }
  explain("anyOf", applied.any_of, at);
  return false;
}

bool Validator::check_one_of(const Applied& applied, const At& at) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < applied.one_of.size() && fitting.size() < 2; ++i) {
    if (fits_quietly(applied.one_of[i], at)) fitting.push_back(i);
    if (is_exhausted_) return false;
  }
  if (fitting.size() == 1) return true;
  if (fitting.empty()) {
    explain("oneOf", applied.one_of, at);
    return false;
  }
  return fail(at, "oneOf", [&] {
    return fmt::format("must fit exactly one schema of oneOf; it fits those at {} and {}",
                       fitting[0], fitting[1]);
  });
}

// None of the schemas fits. Those that meant another kind of value, by type, enum or const, are
// passed over where others are nearer; the faults of a single nearest one are reported as they are.
void Validator::explain(std::string_view keyword, const std::vector<NodeId>& schemas,
                        const At& at) {
  if (at.faults == nullptr) return;
  if (!at.faults->explains) {
    fail(at, keyword, [&] { return fmt::format("fits none of {}", keyword); });
    return;
  }
  std::vector<std::vector<ValueFault>> near, far;
  for (NodeId id : schemas) {
    Faults inner{.max = 4, .explains = false};
    fits(id, {at.value, at.path, &inner});
    bool is_far = std::any_of(inner.list.begin(), inner.list.end(), [](const ValueFault& fault) {
      return fault.keyword == "type" || fault.keyword == "const" || fault.keyword == "enum";
    });
    if (!inner.list.empty()) (is_far ? far : near).push_back(std::move(inner.list));
    if (is_exhausted_) return;
  }
  const auto& reported = near.empty() ? far : near;
  if (reported.size() == 1) {
    for (const ValueFault& fault : reported[0]) {
      if (at.faults->list.size() < at.faults->max) at.faults->list.push_back(fault);
    }
    return;
  }
  fail(at, keyword, [&] {
    std::string words = fmt::format("fits none of the {} schemas of {}", schemas.size(), keyword);
    for (size_t i = 0; i < reported.size() && i < explained_max; ++i) {
      words += fmt::format("; {}{} {}", i == 0 ? "" : "or ",
                           reported[i][0].pointer.empty() ? "it" : reported[i][0].pointer,
                           reported[i][0].message);
    }
    return words;
  });
}

}  // namespace hostler::json_schema
