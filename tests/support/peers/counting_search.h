// A back end of web_search in Tavily's form that counts how often it was asked for each query, and
// says so in its answer. For tests of calls that must not be made twice: a query stands for a call.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "tests/support/peers/scripted_server.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

class CountingSearch {
 public:
  // Each answer takes so long, so that there are calls under way whenever something happens.
  explicit CountingSearch(int answer_ms);
  // Makes it the platform's back end of web_search.
  void use_for(const TestUser& admin) const;

  // How often each query was asked so far.
  std::map<std::string, int> asked() const;
  // The title of the only search result of its n-th answer to the query.
  static std::string title(const std::string& query, int n);

 private:
  void answer_all(Peer& peer);

  int answer_ms_;
  mutable std::mutex mutex_;
  std::map<std::string, int> asked_;
  ScriptedServer server_;  // last: its threads end first
};

}  // namespace hostler::testing_support
