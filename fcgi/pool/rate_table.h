// Token buckets and who owns which token, in memory that the pool's workers share, without a lock:
// lost races, a full table or a lost entry let a request pass, and never hold one back. Made by the
// master before it forks; what is counted for whom is decided by fcgi/identity/rate_limiter.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace hostler {

// A bucket holds twice the limit a minute and is refilled by the limit a minute. It is kept as one
// number, the time at which it will be full again (GCRA), so that a change of the limit acts at
// once and a bucket that was not used for two minutes is worth nothing.
struct Bucket {
  std::atomic<uint64_t> id;       // 0: free, 1: being taken
  std::atomic<int64_t> full_ns;   // monotonic
  std::atomic<int64_t> granted;   // requests a minute by entitlement; 0: none, the setting counts
  std::atomic<int64_t> asked_ns;  // when somebody last looked for the entitlement
};

struct BucketLevel {
  bool is_admitted = true;
  int64_t limit_per_minute = 0;
  int64_t left = 0;           // requests that would pass now
  int64_t full_in_s = 0;      // rounded up
  int64_t retry_after_s = 0;  // when not admitted: at least 1
};

// Values of a counted request for its answer.
struct RateCount {
  std::string_view policy;  // whose bucket: "org" or "address"
  BucketLevel level;
};

class RateTable {
 public:
  RateTable();
  ~RateTable();
  RateTable(const RateTable&) = delete;
  RateTable& operator=(const RateTable&) = delete;

  // Ids are 64 bits of any value, spread by spread_id() and never below 2. Returns the bucket of
  // that id, or a new one, which replaces the least used of a few neighbours. Null if another
  // process was faster.
  Bucket* org_bucket(uint64_t org, int64_t now_ns) const;
  Bucket* address_bucket(uint64_t address, int64_t now_ns) const;

  // The owner that a token stands for, mostly an organization; 0: not known (any more).
  uint64_t org_of_token(uint64_t token) const;
  void remember_token(uint64_t token, uint64_t org) const;
  void forget_token(uint64_t token) const;

  static constexpr size_t ways = 8;  // neighbours that an id may lie among
  static constexpr size_t org_sets = 2048;
  static constexpr size_t address_sets = 4096;
  static constexpr size_t token_sets = 8192;

 private:
  struct TokenSlot {
    std::atomic<uint64_t> token;
    std::atomic<uint64_t> masked_org;  // no use to a reader who saw another token
  };
  struct Memory {
    Bucket orgs[org_sets * ways];
    Bucket addresses[address_sets * ways];
    TokenSlot tokens[token_sets * ways];
  };
  Memory* memory_;
};

// A request taken from the bucket, when it has one.
BucketLevel take_request(Bucket& bucket, int64_t limit_per_minute, int64_t now_ns);

uint64_t spread_id(uint64_t value);
uint64_t spread_id(std::string_view bytes);

}  // namespace hostler
