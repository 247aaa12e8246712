// Tool groups that have no provider for an organization: their tools are not offered to models.
// Every run asks, so the answer is kept for a minute, until providers change. A call asks again in
// any case (runner/tools/tool_provider.h). Owned by the tool box.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/loop/task.h"
#include "runner/tools/tool.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {

class ServedGroups {
 public:
  explicit ServedGroups(ToolServices& services) : services_(services) {}

  // Returns the names that are tools of a group without provider. Waits while Postgres is away.
  Task<std::vector<std::string>> unserved(std::string org_id, std::vector<std::string> names);
  // Some provider may have changed.
  void forget();

 private:
  struct Known {
    std::vector<GroupChoice> choices;  // in the order of groups
    int64_t until_ms = 0;
  };
  Task<std::vector<GroupChoice>> choices_of(std::string org_id);

  ToolServices& services_;
  std::unordered_map<std::string, Known> known_;  // by organization
  int64_t changes_ = 0;
};

}  // namespace hostler::runner
