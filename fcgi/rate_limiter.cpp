// Ids, buckets and the words of the answer; see fcgi/rate_limiter.h.
#include "fcgi/rate_limiter.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "fcgi/route.h"
#include "fcgi/seat.h"

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

int64_t org_limit(const Bucket& bucket, const Settings& settings) {
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

std::optional<Error> RateLimiter::count_address(Request& request, const Settings& settings) const {
  int64_t now = now_ns();
  std::optional<uint64_t> address = address_id(request.client_ip);
  Bucket* bucket = address ? table_.address_bucket(*address, now) : nullptr;
  if (bucket == nullptr) return std::nullopt;
  int64_t limit = settings.integer("limit.anonymous_requests_per_minute");
  request.rate = RateCount{address_policy, take_request(*bucket, limit, now, false)};
  if (request.rate->level.is_admitted) return std::nullopt;
  return too_many(request.rate->level, "An address");
}

void RateLimiter::admit(Request& request, const Settings& settings) const {
  if (request.route->rate == Rate::none) return;
  if (request.credential.kind == Credential::Kind::none) {
    std::optional<Error> refusal = count_address(request, settings);
    if (refusal) throw *refusal;
    return;
  }
  int64_t now = now_ns();
  uint64_t org = table_.org_of_token(token_id(request));
  Bucket* bucket = org == 0 ? nullptr : table_.org_bucket(org, now);
  if (bucket == nullptr) return;
  int64_t limit = org_limit(*bucket, settings);
  request.rate = RateCount{org_policy, take_request(*bucket, limit, now, false)};
  if (!request.rate->level.is_admitted) throw too_many(request.rate->level, "The organization");
}

std::optional<Error> RateLimiter::count_refused(Request& request, const Settings& settings) const {
  forget(request);
  if (request.route->rate == Rate::none) return std::nullopt;
  return count_address(request, settings);
}

bool RateLimiter::learn(Request& request, const Settings& settings) const {
  if (request.route->rate == Rate::none) return false;
  int64_t now = now_ns();
  uint64_t org = spread_id(request.caller.org_id);
  Bucket* bucket = table_.org_bucket(org, now);
  if (bucket == nullptr) return false;
  if (!request.rate) {
    table_.remember_token(token_id(request), org);
    int64_t limit = org_limit(*bucket, settings);
    request.rate = RateCount{org_policy, take_request(*bucket, limit, now, true)};
  }
  int64_t asked = bucket->asked_ns.load(std::memory_order_relaxed);
  bool is_due = asked == 0 || now - asked > ask_every_ns;
  return is_due && bucket->asked_ns.compare_exchange_strong(asked, now);
}

void RateLimiter::set_granted(std::string_view org_id, int64_t limit_per_minute) const {
  Bucket* bucket = table_.org_bucket(spread_id(org_id), now_ns());
  if (bucket != nullptr) bucket->granted.store(limit_per_minute, std::memory_order_relaxed);
}

// A token acts in another organization with another organization named.
uint64_t RateLimiter::token_id(const Request& request) const {
  uint64_t hash = 0;
  memcpy(&hash, request.credential.hash.data(), sizeof hash);
  return spread_id(hash ^ spread_id(request.org_named()));
}

void RateLimiter::remember(uint64_t token, std::string_view org_id) const {
  table_.remember_token(token, spread_id(org_id));
}

void RateLimiter::forget(const Request& request) const {
  if (request.credential.kind != Credential::Kind::none) table_.forget_token(token_id(request));
}

void add_rate_headers(const Request& request, Response& response) {
  if (!request.rate) return;
  const auto& [policy, level] = *request.rate;
  response.add_header("RateLimit-Policy",
                      fmt::format("\"{}\";q={};w=60", policy, level.limit_per_minute));
  response.add_header("RateLimit",
                      fmt::format("\"{}\";r={};t={}", policy, level.left, level.full_in_s));
}

}  // namespace hostler
