// A caller of Postgres whose connection is cut now and then, before its COMMIT arrives or between
// the commit and the answer, and who asks again until it is answered. For stress tests. Blocks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/postgres/session.h"
#include "tests/support/peers/faulty_proxy.h"

namespace hostler::testing_support {

// Fate of a COMMIT.
enum class Fate { answered, cut_before, cut_after };

class RetryingClient {
 public:
  // url: as if there were no line; it leads to the line's server. next_fate is asked once a commit.
  RetryingClient(FaultyProxy& line, const std::string& url, std::function<Fate()> next_fate);

  // Does the work in a transaction until its COMMIT is answered; throws what the work throws. The
  // work learns whether it was already committed without an answer. If it returns false, it is
  // rolled back.
  bool commit(const std::function<bool(bool is_repeat)>& work);
  postgres::DbSession& session() { return *session_; }
  int cuts_before() const { return cuts_before_; }
  int cuts_after() const { return cuts_after_; }

 private:
  void connect();

  FaultyProxy& proxy_;
  std::string url_;
  std::function<Fate()> next_fate_;
  std::optional<postgres::DbSession> session_;
  int cuts_before_ = 0;
  int cuts_after_ = 0;
};

}  // namespace hostler::testing_support
