// Lock-free tables of fixed size; see fcgi/pool/rate_table.h.
#include "fcgi/pool/rate_table.h"

#include <sys/mman.h>

#include <algorithm>

#include "lib/error.h"

namespace hostler {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
constexpr int64_t minute_ns = 60 * second_ns;
constexpr int64_t depth_ns = 2 * minute_ns;  // a bucket holds what two minutes bring
constexpr uint64_t id_min = 2;
constexpr uint64_t being_taken = 1;

int64_t seconds_up(int64_t duration_ns) {
  return std::max<int64_t>(0, (duration_ns + second_ns - 1) / second_ns);
}

Bucket* find_bucket(Bucket* set, uint64_t id, int64_t now_ns) {
  Bucket* oldest = set;
  for (Bucket* bucket = set; bucket != set + RateTable::ways; ++bucket) {
    if (bucket->id.load(std::memory_order_acquire) == id) return bucket;
    if (bucket->full_ns.load(std::memory_order_relaxed) <
        oldest->full_ns.load(std::memory_order_relaxed)) {
      oldest = bucket;
    }
  }
  uint64_t old_id = oldest->id.load(std::memory_order_relaxed);
  if (old_id == being_taken || !oldest->id.compare_exchange_strong(old_id, being_taken)) {
    return nullptr;
  }
  oldest->full_ns.store(now_ns, std::memory_order_relaxed);
  oldest->granted.store(0, std::memory_order_relaxed);
  oldest->asked_ns.store(0, std::memory_order_relaxed);
  oldest->id.store(id, std::memory_order_release);
  return oldest;
}

}  // namespace

// Untouched pages cost nothing: 5 MiB at most.
RateTable::RateTable() {
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error(ErrorCode::internal_error, {}, "no shared memory");
  memory_ = static_cast<Memory*>(memory);  // zeros are free slots
}

RateTable::~RateTable() { munmap(memory_, sizeof(Memory)); }

Bucket* RateTable::org_bucket(uint64_t org, int64_t now_ns) const {
  return find_bucket(memory_->orgs + org % org_sets * ways, org, now_ns);
}

Bucket* RateTable::address_bucket(uint64_t address, int64_t now_ns) const {
  return find_bucket(memory_->addresses + address % address_sets * ways, address, now_ns);
}

uint64_t RateTable::org_of_token(uint64_t token) const {
  const TokenSlot* set = memory_->tokens + token % token_sets * ways;
  for (const TokenSlot* slot = set; slot != set + ways; ++slot) {
    if (slot->token.load(std::memory_order_acquire) != token) continue;
    return slot->masked_org.load(std::memory_order_relaxed) ^ spread_id(token);
  }
  return 0;
}

void RateTable::remember_token(uint64_t token, uint64_t org) const {
  TokenSlot* set = memory_->tokens + token % token_sets * ways;
  // Without a free slot any other is replaced: its owner is found again by the next answer.
  TokenSlot* chosen = set + spread_id(token) % ways;
  for (TokenSlot* slot = set; slot != set + ways; ++slot) {
    uint64_t stored = slot->token.load(std::memory_order_relaxed);
    if (stored == token) {
      chosen = slot;
      break;
    }
    if (stored == 0) chosen = slot;
  }
  chosen->masked_org.store(org ^ spread_id(token), std::memory_order_relaxed);
  chosen->token.store(token, std::memory_order_release);
}

void RateTable::forget_token(uint64_t token) const {
  TokenSlot* set = memory_->tokens + token % token_sets * ways;
  for (TokenSlot* slot = set; slot != set + ways; ++slot) {
    uint64_t stored = token;
    slot->token.compare_exchange_strong(stored, 0);
  }
}

BucketLevel take_request(Bucket& bucket, int64_t limit_per_minute, int64_t now_ns) {
  BucketLevel level;
  level.limit_per_minute = std::clamp<int64_t>(limit_per_minute, 1, minute_ns);
  int64_t each_ns = minute_ns / level.limit_per_minute;
  int64_t was_ns = bucket.full_ns.load(std::memory_order_relaxed);
  int64_t full_ns = 0;
  do {
    full_ns = std::max(was_ns, now_ns) + each_ns;
    level.is_admitted = full_ns <= now_ns + depth_ns;
    if (!level.is_admitted) {
      level.retry_after_s = std::max<int64_t>(1, seconds_up(full_ns - now_ns - depth_ns));
      full_ns -= each_ns;
      break;
    }
  } while (!bucket.full_ns.compare_exchange_weak(was_ns, full_ns, std::memory_order_relaxed));
  level.left =
      std::clamp<int64_t>((now_ns + depth_ns - full_ns) / each_ns, 0, 2 * level.limit_per_minute);
  level.full_in_s = seconds_up(full_ns - now_ns);
  return level;
}

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t spread_id(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return std::max(value ^ (value >> 31), id_min);
}

uint64_t spread_id(std::string_view bytes) {
  uint64_t id = bytes.size();
  for (char c : bytes) id = spread_id(id ^ static_cast<unsigned char>(c));
  return id;
}

}  // namespace hostler
