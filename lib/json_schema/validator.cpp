// Values held against a compiled schema. See lib/json_schema/validator.h; objects and what applies
// to the same value are in validator_applied.cpp and validator_objects.cpp.
#include "lib/json_schema/validator.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "lib/json_schema/validator_words.h"
#include "lib/utf8.h"

namespace hostler::json_schema {
namespace {

constexpr size_t node_work = 30;
constexpr size_t item_work = 60;
// Results that took less work are computed again instead of being remembered.
constexpr size_t remembered_work_min = 500;
// A match that may take longer than this is measured: RE2 is mostly a hundred times faster than it
// may be at worst. One that may take longer than match_work_max
// is not tried.
constexpr size_t measured_work_min = 20'000;

// Processor time of this thread, so that other work on the machine does not count.
int64_t thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

unsigned type_bits(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return type_null;
    case Json::Kind::boolean:
      return type_boolean;
    case Json::Kind::integer:
      return type_integer | type_number;
    case Json::Kind::number:
      return is_whole(value) ? type_integer | type_number : type_number;
    case Json::Kind::text:
      return type_string;
    case Json::Kind::array:
      return type_array;
    case Json::Kind::object:
      return type_object;
  }
  return 0;
}

bool is_within(const NumberBound& bound, const Json& value) {
  std::strong_ordering order = compare_numbers(value, bound.limit);
  if (order == 0) return bound.may_equal;
  return bound.is_least ? order > 0 : order < 0;
}

}  // namespace

Verdict Validator::check(const Json& value) {
  Verdict verdict;
  const Path root;
  work_left_ = work_max;
  verdict.fits = fits(0, {value, root, nullptr}) && !is_exhausted_;
  verdict.was_too_much = is_exhausted_;
  if (verdict.fits) return verdict;
  Faults faults;
  if (!verdict.was_too_much) {
    work_left_ = work_max;
    fits(0, {value, root, &faults});
  }
  if (faults.list.empty()) {
    faults.list.push_back({"", "", "takes too much work to check; make it shorter"});
  }
  verdict.faults = std::move(faults.list);
  return verdict;
}

void Validator::add_fault(const At& at, std::string_view keyword, const std::string& message) {
  std::vector<const Path*> steps;
  for (const Path* path = &at.path; path->outer != nullptr; path = path->outer) {
    steps.push_back(path);
  }
  ValueFault fault{.keyword = std::string(keyword),
                   .message = shortened(message, message_bytes_max)};
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    std::string index = fmt::format_int((*step)->index).str();
    append_pointer_step(fault.pointer, (*step)->is_name ? (*step)->name : std::string_view(index));
  }
  for (const ValueFault& known : at.faults->list) {
    bool is_known = known.pointer == fault.pointer && known.keyword == fault.keyword &&
                    known.message == fault.message;
    if (is_known) return;
  }
  at.faults->list.push_back(std::move(fault));
}

bool Validator::spend(size_t work) {
  if (work < work_left_) {
    work_left_ -= work;
    return true;
  }
  work_left_ = 0;
  is_exhausted_ = true;
  return false;
}

// Checks the node and, by its $ref, the next, in a loop, so a $ref nests no call. Faults are
// reported at the first $ref for all that follow.
bool Validator::fits(NodeId id, const At& at) {
  const uintptr_t value_key = name_key_ != 0 ? name_key_ : reinterpret_cast<uintptr_t>(&at.value);
  std::optional<Remembered> asked;
  size_t work_before = 0;
  bool is_good = true;
  while (id != no_node) {
    const Node& node = compiled_.nodes[id];
    if (!spend(node_work)) return false;
    if (node.is_nullable && at.value.is_null()) break;
    is_good = fits_node(node, at) && is_good;
    if (!is_good && at.faults == nullptr) break;
    id = node.applied == nullptr ? no_node : node.applied->ref;
    if (id == no_node) break;
    auto known = remembered_.find({id, value_key});
    if (known == remembered_.end()) {
      if (!asked) work_before = work_left_;
      if (!asked) asked = {id, value_key};
    } else if (known->second) {
      break;
    } else if (at.faults == nullptr) {
      is_good = false;
      break;
    }
  }
  bool is_worth_it = asked && at.faults == nullptr && !is_exhausted_ &&
                     work_before - work_left_ >= remembered_work_min &&
                     remembered_.size() < remembered_max;
  if (is_worth_it) remembered_.emplace(*asked, is_good);
  return is_good;
}

bool Validator::fits_node(const Node& node, const At& at) {
  if (node.is_never) return fail(at, "false", [] { return "no value is allowed here; remove it"; });
  if (node.types != 0 && !check_type(node, at)) return false;
  bool is_good = node.listed.empty() || check_listed(node, at);
  if (!is_good) return false;
  const Json& value = at.value;
  if (node.number != nullptr && value.as_number()) is_good = check_number(*node.number, at);
  if (node.text != nullptr && value.is_text()) is_good = check_text(*node.text, at);
  if (node.array != nullptr && value.is_array()) is_good = check_array(*node.array, at);
  if (node.object != nullptr && value.is_object()) is_good = check_object(*node.object, at);
  if (!is_good && at.faults == nullptr) return false;
  return (node.applied == nullptr || check_applied(*node.applied, at)) && is_good;
}

bool Validator::check_type(const Node& node, const At& at) {
  if ((type_bits(at.value) & node.types) != 0) return true;
  return fail(at, "type", [&] { return type_words(node.types, at.value); });
}

bool Validator::check_listed(const Node& node, const At& at) {
  const std::string* text = at.value.as_text();
  std::string own;
  for (const ListedValues& listed : node.listed) {
    bool may_be = text == nullptr || text->size() <= listed.longest;
    if (may_be && own.empty()) own = canonical(at.value);
    spend(own.size() + node_work);
    if (may_be && std::binary_search(listed.texts.begin(), listed.texts.end(), own)) continue;
    return fail(at, listed.keyword, [&] { return listed.words; });
  }
  return true;
}

bool Validator::check_number(const NumberRules& rules, const At& at) {
  bool is_good = true;
  for (const NumberBound& bound : rules.bounds) {
    if (is_within(bound, at.value)) continue;
    is_good = fail(at, bound.keyword, [&] { return bound_words(bound); });
  }
  if (rules.divisor && !is_multiple(at.value, *rules.divisor)) {
    is_good =
        fail(at, "multipleOf", [&] { return "must be a multiple of " + rules.multiple_of.dump(); });
  }
  return is_good;
}

bool Validator::check_text(const TextRules& rules, const At& at) {
  const std::string& text = *at.value.as_text();
  if (!rules.lengths.empty()) {
    spend(text.size());
    bool is_good = check_counts(rules.lengths, character_count(text), "character", at);
    if (!is_good) return false;
  }
  if (rules.pattern == nullptr || is_found(*rules.pattern, text)) return true;
  return fail(at, "pattern", [&] {
    return "must match the pattern " + shortened(rules.pattern->expression, words_bytes_max);
  });
}

bool Validator::is_found(const NamedPattern& pattern, std::string_view text) {
  size_t work = pattern.pattern.nanoseconds_max(text.size());
  if (work < measured_work_min) return spend(work) && pattern.pattern.is_found_in(text);
  if (work > match_work_max) return spend(work_max);  // breaks off
  if (is_exhausted_) return false;
  int64_t begin = thread_nanoseconds();
  bool is_there = pattern.pattern.is_found_in(text);
  return spend(static_cast<size_t>(thread_nanoseconds() - begin)) && is_there;
}

bool Validator::check_counts(const std::vector<CountBound>& bounds, size_t count,
                             std::string_view unit, const At& at) {
  bool is_good = true;
  for (const CountBound& bound : bounds) {
    if (bound.is_least ? count >= bound.count : count <= bound.count) continue;
    is_good = fail(at, bound.keyword, [&] { return count_words(bound, count, unit); });
  }
  return is_good;
}

bool Validator::check_array(const ArrayRules& rules, const At& at) {
  const Json::Array& array = *at.value.as_array();
  bool is_good = check_counts(rules.counts, array.size(), "item", at);
  for (size_t i = 0; i < array.size() && !is_exhausted_; ++i) {
    if (!is_good && at.faults == nullptr) return false;
    NodeId schema = i < rules.prefix_items.size() ? rules.prefix_items[i] : rules.items;
    if (schema == no_node) break;
    const Path inner{.outer = &at.path, .index = i};
    is_good = fits(schema, {array[i], inner, at.faults}) && is_good;
  }
  if (!is_good && at.faults == nullptr) return false;
  is_good = (rules.contains == no_node || check_contains(rules, at)) && is_good;
  return (!rules.is_unique || check_unique(at)) && is_good;
}

bool Validator::check_contains(const ArrayRules& rules, const At& at) {
  const Json::Array& array = *at.value.as_array();
  size_t found = 0;
  for (size_t i = 0; i < array.size() && !is_exhausted_; ++i) {
    const Path inner{.outer = &at.path, .index = i};
    found += fits_quietly(rules.contains, {array[i], inner, nullptr}) ? 1 : 0;
    bool is_decided = rules.contains_max == SIZE_MAX && found >= rules.contains_min;
    if (is_decided || found > rules.contains_max) break;
  }
  if (found < rules.contains_min) {
    return fail(at, rules.contains_min == 1 ? "contains" : "minContains", [&] {
      return fmt::format("must have at least {} that fit contains; {} fit",
                         counted(rules.contains_min, "item"), found);
    });
  }
  if (found <= rules.contains_max) return true;
  return fail(at, "maxContains", [&] {
    return fmt::format("must have at most {} that fit contains",
                       counted(rules.contains_max, "item"));
  });
}

bool Validator::check_unique(const At& at) {
  const Json::Array& array = *at.value.as_array();
  if (array.size() < 2 || !spend(array.size() * item_work)) return true;
  std::vector<std::pair<std::string, size_t>> texts;
  texts.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    texts.emplace_back(canonical(array[i]), i);
    if (!spend(item_work * 4 + texts.back().first.size() * 4)) return true;
  }
  std::sort(texts.begin(), texts.end());
  auto same = std::adjacent_find(
      texts.begin(), texts.end(),
      [](const auto& left, const auto& right) { return left.first == right.first; });
  if (same == texts.end()) return true;
  return fail(at, "uniqueItems", [&] {
    return fmt::format("must not have equal items; those at {} and {} are equal", same->second,
                       (same + 1)->second);
  });
}

}  // namespace hostler::json_schema
