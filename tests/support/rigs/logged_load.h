// Requests to a private stack, one after the other, under paths that nobody else asks for, and
// their rows in the access log. For tests that kill who writes them.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "lib/postgres/session.h"
#include "tests/support/rigs/private_stack.h"

namespace hostler::testing_support {

// The first field of the answer, asked again until it is as wanted, at most 60 s.
std::string comes_to(postgres::DbSession& session, const std::string& question,
                     const std::string& wanted);

class LoggedLoad {
 public:
  explicit LoggedLoad(const PrivateStack& stack);  // begins
  ~LoggedLoad();
  LoggedLoad(const LoggedLoad&) = delete;
  LoggedLoad& operator=(const LoggedLoad&) = delete;

  void wait_for_more(int answers) const;
  void end();
  // "rows paths" of the access log: both as many as were answered unless a line is lost or doubled.
  std::string rows();
  std::string wanted() const;

 private:
  const PrivateStack& stack_;
  std::string mark_;
  std::atomic<bool> stops_ = false;
  std::atomic<int> answered_ = 0;
  std::thread thread_;
};

}  // namespace hostler::testing_support
