// Ids, buckets and the words of the answer; see fcgi/identity/rate_limiter.h.
#include "fcgi/identity/rate_limiter.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "fcgi/http/route.h"
#include "fcgi/pool/worker_slot.h"
#include "lib/ids.h"

namespace hostler {
namespace {

constexpr int64_t ask_every_ns = 2'000'000'000;
constexpr const char* org_policy = "org";
constexpr const char* address_policy = "address";

int64_t now_ns() { return monotonic_us() * 1000; }

// One host is one address of version 4, or a network of 64 bits of version 6: what a client gets.
std::optional<uint64_t> address_id(std::string_view text) {
  std::string address(text);
  in_addr four{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) {
    return spread_id(0xFFFF'FFFF'0000'0000 | ntohl(four.s_addr));
  }
  in6_addr six{};
  if (inet_pton(AF_INET6, address.c_str(), &six) != 1) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&six)) {
    uint32_t mapped = 0;
    memcpy(&mapped, six.s6_addr + 12, sizeof mapped);
    return spread_id(0xFFFF'FFFF'0000'0000 | ntohl(mapped));
  }
  uint64_t network = 0;
  memcpy(&network, six.s6_addr, sizeof network);
  return spread_id(network);
}

uint64_t hash_of(const Admitted& request) {
  uint64_t hash = 0;
  memcpy(&hash, request.credential.hash.data(), sizeof hash);
  return hash;
}

// Where the table has a token's user, beside its organizations.
uint64_t user_mark(const Admitted& request) {
  return spread_id(spread_id(hash_of(request)) ^ spread_id("user"));
}

// Where it has the organization that a token counts for where its owner is no member.
uint64_t stranger_mark(const Admitted& request) {
  return spread_id(spread_id(hash_of(request)) ^ spread_id("stranger"));
}

// An invalid id names nobody's organization, and is refused only after the caller is known. Until
// then it stands for the token's own one, because otherwise each new word would pass uncounted.
std::string_view org_named(const Admitted& request) {
  std::string_view named = request.routed.org_named();
  return is_uuid(named) ? named : std::string_view();
}

int64_t org_limit(const Bucket& bucket, const config::Settings& settings) {
  int64_t granted = bucket.granted.load(std::memory_order_relaxed);
  return granted > 0 ? granted : settings.integer("limit.requests_per_minute");
}

Error too_many(const BucketLevel& level, std::string_view whose) {
  Error error(ErrorCode::rate_limit_exceeded,
              fmt::format("{} may make {} requests a minute; wait {} s.", whose,
                          level.limit_per_minute, level.retry_after_s));
  error.retry_after_s = static_cast<int>(level.retry_after_s);
  return error;
}

}  // namespace

Admission RateLimiter::count_address(const Client& client, const config::Settings& settings) const {
  int64_t now = now_ns();
  std::optional<uint64_t> address = address_id(client.ip);
  Bucket* bucket = address ? table_.address_bucket(*address, now) : nullptr;
  if (bucket == nullptr) return {};
  int64_t limit = settings.integer("limit.anonymous_requests_per_minute");
  RateCount rate{address_policy, take_request(*bucket, limit, now)};
  if (rate.level.is_admitted) return {rate, std::nullopt};
  return {rate, too_many(rate.level, "An address")};
}

Admission RateLimiter::admit(const Admitted& request, const config::Settings& settings) const {
  if (request.routed.route.rate == Rate::none) return {};
  if (request.credential.kind == account::Credential::Kind::none) {
    return count_address(request.client, settings);
  }
  int64_t now = now_ns();
  uint64_t org = table_.org_of_token(token_id(request));
  if (org == 0) return stranger_admission(request, settings);
  Bucket* bucket = table_.org_bucket(org, now);
  if (bucket == nullptr) return {};
  RateCount rate{org_policy, take_request(*bucket, org_limit(*bucket, settings), now)};
  if (rate.level.is_admitted) return {rate, std::nullopt};
  return {rate, too_many(rate.level, "The organization")};
}

// A token that was refused in one organization and names one that it was not seen in: whether the
// one that it counts for then has room. Counted is it when the database has said where it may act.
Admission RateLimiter::stranger_admission(const Admitted& request,
                                          const config::Settings& settings) const {
  int64_t now = now_ns();
  uint64_t org = table_.org_of_token(stranger_mark(request));
  const Bucket* bucket = org == 0 ? nullptr : table_.org_bucket(org, now);
  if (bucket == nullptr) return {};
  Bucket copy{};
  copy.full_ns.store(bucket->full_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  RateCount rate{org_policy, take_request(copy, org_limit(*bucket, settings), now)};
  if (rate.level.is_admitted) return {};
  return {rate, too_many(rate.level, "The organization")};
}

Admission RateLimiter::count_unknown(const Admitted& request,
                                     const config::Settings& settings) const {
  forget(request);
  if (request.routed.route.rate == Rate::none) return {};
  return count_address(request.client, settings);
}

Admission RateLimiter::count_stranger(const Admitted& request, std::string_view org_id,
                                      bool was_counted, const config::Settings& settings) const {
  if (request.routed.route.rate == Rate::none) return {};
  int64_t now = now_ns();
  uint64_t org = spread_id(org_id);
  Bucket* bucket = table_.org_bucket(org, now);
  if (bucket == nullptr) return {};
  // The first of many concurrent requests reports to the table; the others came uncounted anyway.
  if (was_counted && table_.org_of_token(token_id(request)) == org) return {};
  // From here on it is refused before the database is asked, also when it names another one.
  table_.remember_token(token_id(request), org);
  table_.remember_token(stranger_mark(request), org);
  RateCount rate{org_policy, take_request(*bucket, org_limit(*bucket, settings), now)};
  if (rate.level.is_admitted) return {rate, std::nullopt};
  return {rate, too_many(rate.level, "The organization")};
}

Admission RateLimiter::learn(const Admitted& request, const account::Caller& caller,
                             const config::Settings& settings) const {
  if (request.routed.route.rate == Rate::none) return {};
  int64_t now = now_ns();
  uint64_t org = spread_id(caller.org_id);
  Bucket* bucket = table_.org_bucket(org, now);
  if (bucket == nullptr) return {};
  remember(request, caller);
  RateCount rate{org_policy, take_request(*bucket, org_limit(*bucket, settings), now)};
  if (rate.level.is_admitted) return {rate, std::nullopt};
  return {rate, too_many(rate.level, "The organization")};
}

bool RateLimiter::is_entitlement_due(std::string_view org_id) const {
  int64_t now = now_ns();
  Bucket* bucket = table_.org_bucket(spread_id(org_id), now);
  if (bucket == nullptr) return false;
  int64_t asked = bucket->asked_ns.load(std::memory_order_relaxed);
  bool is_due = asked == 0 || now - asked > ask_every_ns;
  return is_due && bucket->asked_ns.compare_exchange_strong(asked, now);
}

void RateLimiter::set_granted(std::string_view org_id, int64_t limit_per_minute) const {
  Bucket* bucket = table_.org_bucket(spread_id(org_id), now_ns());
  if (bucket != nullptr) bucket->granted.store(limit_per_minute, std::memory_order_relaxed);
}

// A token acts in another organization with another organization named.
uint64_t RateLimiter::token_id(const Admitted& request) const {
  return spread_id(hash_of(request) ^ spread_id(org_named(request)));
}

void RateLimiter::remember(uint64_t token, std::string_view org_id) const {
  table_.remember_token(token, spread_id(org_id));
}

void RateLimiter::remember(const Admitted& request, const account::Caller& caller) const {
  remember(token_id(request), caller.org_id);
  table_.remember_token(user_mark(request), spread_id(caller.user_id));
}

void RateLimiter::correct(const Admitted& request, const account::Caller& caller) const {
  if (org_of(request) != spread_id(caller.org_id) || user_of(request) == 0)
    remember(request, caller);
}

uint64_t RateLimiter::org_of(const Admitted& request) const {
  return table_.org_of_token(token_id(request));
}

uint64_t RateLimiter::user_of(const Admitted& request) const {
  return table_.org_of_token(user_mark(request));
}

void RateLimiter::forget(const Admitted& request) const {
  if (request.credential.kind != account::Credential::Kind::none)
    table_.forget_token(token_id(request));
}

void add_rate_headers(const RateCount& rate, Response& response) {
  const auto& [policy, level] = rate;
  response.add_header("RateLimit-Policy",
                      fmt::format("\"{}\";q={};w=60", policy, level.limit_per_minute));
  response.add_header("RateLimit",
                      fmt::format("\"{}\";r={};t={}", policy, level.left, level.full_in_s));
}

}  // namespace hostler
