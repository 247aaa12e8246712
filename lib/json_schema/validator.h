// Checks one value by a compiled schema. Made by Schema::check (lib/json_schema/schema.h) for one
// value, used once.
//
// Bounds, for any schema and any value: work is counted, and checking is broken off when it is used
// up; what a $ref said of a value is remembered while there is room, so that schemas which apply
// each other again and again cost what they cost once; a call nests at most as deep as the value
// (64) times schema_nesting_max.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/json_schema/compiled.h"
#include "lib/json_schema/schema.h"

namespace hostler::json_schema {

// About a nanosecond each, at most some: a tenth of a second, twice when there are faults to tell.
constexpr size_t work_max = 100'000'000;
constexpr size_t match_work_max = 500'000'000;  // of a single pattern in a single text
constexpr size_t remembered_max = 65'536;

class Validator {
 public:
  explicit Validator(const Compiled& compiled) : compiled_(compiled) {}
  Verdict check(const Json& value);

 private:
  // The way into the value, from the inside out.
  struct Path {
    const Path* outer = nullptr;
    std::string_view name = {};
    size_t index = 0;
    bool is_name = false;
  };
  // Where faults go. Without one a check ends at the first fault.
  struct Faults {
    std::vector<ValueFault> list = {};
    size_t max = value_faults_max;
    bool explains = true;  // what each schema of an anyOf wanted
  };
  struct At {
    const Json& value;
    const Path& path;
    Faults* faults;
  };
  struct Remembered {
    NodeId node;
    uintptr_t value;
    bool operator==(const Remembered&) const = default;
  };
  struct RememberedHash {
    size_t operator()(const Remembered& key) const {
      return (key.value ^ (key.node * 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
    }
  };

  bool spend(size_t work);
  // Tells the fault where somebody listens, who alone pays for the words; answers false.
  template <class Words>
  bool fail(const At& at, std::string_view keyword, Words words) {
    bool is_wanted = at.faults != nullptr && at.faults->list.size() < at.faults->max;
    if (is_wanted) add_fault(at, keyword, words());
    return false;
  }
  void add_fault(const At& at, std::string_view keyword, const std::string& message);

  bool fits(NodeId id, const At& at);
  bool fits_quietly(NodeId id, const At& at) { return fits(id, {at.value, at.path, nullptr}); }
  bool fits_node(const Node& node, const At& at);
  bool check_type(const Node& node, const At& at);
  bool check_listed(const Node& node, const At& at);
  bool check_number(const NumberRules& rules, const At& at);
  bool check_text(const TextRules& rules, const At& at);
  bool check_array(const ArrayRules& rules, const At& at);
  bool check_contains(const ArrayRules& rules, const At& at);
  bool check_unique(const At& at);
  bool check_object(const ObjectRules& rules, const At& at);
  bool check_member(const ObjectRules& rules, const Json::Member& member, std::vector<bool>& met,
                    const At& at);
  bool check_name(const ObjectRules& rules, const std::string& name, const At& at);
  bool check_met(const ObjectRules& rules, const std::vector<bool>& met, const At& at);
  bool check_counts(const std::vector<CountBound>& bounds, size_t count, std::string_view unit,
                    const At& at);
  bool check_applied(const Applied& applied, const At& at);
  bool check_any_of(const Applied& applied, const At& at);
  bool check_one_of(const Applied& applied, const At& at);
  bool is_found(const NamedPattern& pattern, std::string_view text);
  void explain(std::string_view keyword, const std::vector<NodeId>& schemas, const At& at);

  const Compiled& compiled_;
  size_t work_left_ = 0;
  bool is_exhausted_ = false;
  // Names of members are values for a moment; their keys are odd, those of others are addresses.
  uintptr_t name_key_ = 0;
  uintptr_t last_name_key_ = 1;
  std::unordered_map<Remembered, bool, RememberedHash> remembered_;
};

}  // namespace hostler::json_schema
