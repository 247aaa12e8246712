// Decides for whom a request counts, and whether there is room (contract section 1, rate limits):
// callers by organization, everybody else by address, also clients with an invalid token. Called by
// fcgi/dispatch.cpp before anything is done, and by fcgi/answer_call.cpp when the database has
// identified a token's owner. Never asks, never waits.
#pragma once

#include <optional>

#include "fcgi/http/admitted.h"
#include "fcgi/http/response.h"
#include "fcgi/pool/rate_table.h"
#include "lib/account/caller.h"
#include "lib/config/settings.h"
#include "lib/error.h"

namespace hostler {

// Whether there is room for a request.
struct Admission {
  std::optional<RateCount> rate;   // when it was counted
  std::optional<Error> rejection;  // the 429
};

class RateLimiter {
 public:
  explicit RateLimiter(const RateTable& table) : table_(table) {}

  // Counts the request. A token that is not known yet passes, uncounted; one that is known as a
  // stranger's elsewhere only while there is room where it counts then.
  Admission admit(const Admitted& request, const config::Settings& settings) const;
  // The database has told the caller's organization: counts a request that was not, before anything
  // else is done for it; else a new token each time would pass any limit.
  Admission learn(const Admitted& request, const account::Caller& caller,
                  const config::Settings& settings) const;
  // True when somebody should look up the organization's entitlement, and tell it to set_granted:
  // at most one process every two seconds.
  bool is_entitlement_due(std::string_view org_id) const;
  // limit_per_minute: 0 when nothing was granted.
  void set_granted(std::string_view org_id, int64_t limit_per_minute) const;
  // For a token whose request failed after it was found good: the id, while there is a request, and
  // what is known of it later.
  uint64_t token_id(const Admitted& request) const;
  void remember(uint64_t token, std::string_view org_id) const;
  // Whose token it was when it was last seen, as one number for an organization, or for a user in
  // whatever organization; 0: not known.
  uint64_t org_of(const Admitted& request) const;
  uint64_t user_of(const Admitted& request) const;
  // The request was counted by what was known of its token; this reports its caller now.
  void correct(const Admitted& request, const account::Caller& caller) const;
  // The database refused the token: the request was an anonymous one, and counts for its address.
  // Without room, the 429 stands before the 401.
  Admission count_unknown(const Admitted& request, const config::Settings& settings) const;
  // The database refused who is no member where the request was to act: it counts for the
  // organization of the refusal, unless it was counted there when it came. Without room, the 429
  // stands before the 404.
  Admission count_stranger(const Admitted& request, std::string_view org_id, bool was_counted,
                           const config::Settings& settings) const;

 private:
  Admission stranger_admission(const Admitted& request, const config::Settings& settings) const;
  void forget(const Admitted& request) const;
  void remember(const Admitted& request, const account::Caller& caller) const;
  Admission count_address(const Client& client, const config::Settings& settings) const;
  const RateTable& table_;
};

// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10) of a counted request.
void add_rate_headers(const RateCount& rate, Response& response);

}  // namespace hostler
