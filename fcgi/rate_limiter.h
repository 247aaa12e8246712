// Who a request counts for, and whether there is room (contract section 1, rate limits): callers by
// organization, everybody else by address, also whoever shows a token that is none. Called by
// fcgi/dispatch.cpp before anything is done, and by fcgi/services.cpp when the database has said
// whose a token is. Never asks, never waits.
#pragma once

#include <optional>

#include "fcgi/rate_table.h"
#include "fcgi/request.h"
#include "fcgi/response.h"
#include "lib/error.h"
#include "lib/settings.h"

namespace hostler {

class RateLimiter {
 public:
  explicit RateLimiter(const RateTable& table) : table_(table) {}

  // Counts the request; throws 429 when there is no room. A token that is not known yet passes. The
  // credential must have been read, if there is a good one.
  void admit(Request& request, const Settings& settings) const;
  // The database has told the caller's organization. True when somebody should look up the
  // organization's entitlement, and tell it to set_granted: at most one process every two seconds.
  bool learn(Request& request, const Settings& settings) const;
  // limit_per_minute: 0 when nothing was granted.
  void set_granted(std::string_view org_id, int64_t limit_per_minute) const;
  // For a token whose request failed after it was found good: the id, while there is a request, and
  // what is known of it later.
  uint64_t token_id(const Request& request) const;
  void remember(uint64_t token, std::string_view org_id) const;
  // It counts for nobody (any more).
  void forget(const Request& request) const;
  // The database refused the token: the request was an anonymous one, and counts for its address.
  // Answers the 429 that stands before the 401, when there is no room.
  std::optional<Error> count_refused(Request& request, const Settings& settings) const;

 private:
  std::optional<Error> count_address(Request& request, const Settings& settings) const;
  const RateTable& table_;
};

// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10) of a counted request.
void add_rate_headers(const Request& request, Response& response);

}  // namespace hostler
