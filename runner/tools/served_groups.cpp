// See runner/tools/served_groups.h.
#include "runner/tools/served_groups.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/config/live_settings.h"
#include "lib/loop/loop.h"

namespace hostler::runner {
namespace {

// Each has one tool, of its own name.
constexpr std::array<std::string_view, 2> groups = {"web_search", "web_fetch"};
constexpr int64_t kept_ms = 60'000;  // should a notification be lost
constexpr size_t known_max = 10'000;

bool is_named(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void ServedGroups::forget() {
  known_.clear();
  ++changes_;
}

Task<std::vector<GroupChoice>> ServedGroups::choices_of(std::string org_id) {
  auto found = known_.find(org_id);
  if (found != known_.end() && services_.loop.now_ms() < found->second.until_ms) {
    co_return found->second.choices;
  }
  int64_t changes = changes_;
  std::vector<std::string> asked(groups.begin(), groups.end());
  Task<std::vector<GroupChoice>> choosing =
      choose_tool_providers(services_, org_id, std::move(asked));
  std::vector<GroupChoice> choices = co_await choosing;
  // The answer may lack changes that happened meanwhile.
  if (changes != changes_) co_return choices;
  if (known_.size() >= known_max) known_.clear();
  known_[org_id] = {choices, services_.loop.now_ms() + kept_ms};
  co_return choices;
}

Task<std::vector<std::string>> ServedGroups::unserved(std::string org_id,
                                                      std::vector<std::string> names) {
  std::vector<std::string> found;
  bool has_any = std::any_of(groups.begin(), groups.end(),
                             [&](std::string_view group) { return is_named(names, group); });
  if (!has_any) co_return found;
  Task<std::vector<GroupChoice>> choosing = choices_of(std::move(org_id));
  std::vector<GroupChoice> choices = co_await choosing;
  std::shared_ptr<const config::Settings> settings = services_.settings.current();
  for (size_t i = 0; i < groups.size(); ++i) {
    bool is_served =
        choices[i] == GroupChoice::served ||
        (choices[i] == GroupChoice::by_settings && is_served_by_settings(*settings, groups[i]));
    if (!is_served && is_named(names, groups[i])) found.emplace_back(groups[i]);
  }
  co_return found;
}

}  // namespace hostler::runner
