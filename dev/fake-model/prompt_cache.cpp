// Written against what Anthropic and OpenAI publish about prompt caching. See
// dev/fake-model/prompt_cache.h.
#include "dev/fake-model/prompt_cache.h"

#include <algorithm>

#include "dev/fake-model/chat_checks.h"

namespace hostler::fake_model {
namespace {

constexpr int64_t kept_ms = 300'000;
constexpr size_t prefixes_max = 200'000;
// Anthropic looks for what was written at a mark and at so many blocks before it.
constexpr size_t blocks_looked_at = 20;
// OpenAI finds prefixes of a multiple of 128 tokens; guess_tokens() takes four bytes for one.
constexpr size_t step_bytes = size_t{128} * 4;

struct Prefix {
  uint64_t hash = 0;
  size_t bytes = 0;
};

// Behind each block.
std::vector<Prefix> prefixes_of(const ChatRequest& request) {
  std::vector<Prefix> prefixes;
  Prefix prefix{hash_of(request.model), 0};
  for (const PromptBlock& block : request.prompt) {
    prefix.hash = hash_of(std::to_string(prefix.hash) + block.bytes);
    prefix.bytes += block.bytes.size();
    prefixes.push_back(prefix);
  }
  return prefixes;
}

}  // namespace

void PromptCache::count(ChatRequest& request) {
  if (request.input_tokens < cached_tokens_min) return;
  if (request.caches_by_itself) {
    count_by_itself(request);
  } else {
    count_marked(request);
  }
}

// The part after the last mark is neither read nor written.
void PromptCache::count_marked(ChatRequest& request) {
  std::vector<Prefix> prefixes = prefixes_of(request);
  size_t read = 0;
  size_t written = 0;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    bool is_kept_here = guess_tokens(prefixes[i].bytes) >= cached_tokens_min;
    if (!request.prompt[i].is_breakpoint || !is_kept_here) continue;
    written = prefixes[i].bytes;
    for (size_t back = 0; back < blocks_looked_at && back <= i; ++back) {
      const Prefix& earlier = prefixes[i - back];
      if (earlier.bytes <= read) break;
      if (!is_kept(earlier.hash)) continue;
      keep(earlier.hash);
      read = earlier.bytes;
    }
  }
  for (size_t i = 0; i < prefixes.size(); ++i) {
    bool is_kept_here = guess_tokens(prefixes[i].bytes) >= cached_tokens_min;
    if (request.prompt[i].is_breakpoint && is_kept_here) keep(prefixes[i].hash);
  }
  request.cached_tokens = guess_tokens(read);
  request.written_tokens = guess_tokens(written) - request.cached_tokens;
}

void PromptCache::count_by_itself(ChatRequest& request) {
  std::string all;
  for (const PromptBlock& block : request.prompt) all += block.bytes;
  uint64_t hash = hash_of(request.model);
  bool is_read = true;
  for (size_t bytes = step_bytes; bytes <= all.size(); bytes += step_bytes) {
    std::string_view step = std::string_view(all).substr(bytes - step_bytes, step_bytes);
    hash = hash_of(std::to_string(hash) + std::string(step));
    if (guess_tokens(bytes) < cached_tokens_min) continue;
    is_read = is_read && is_kept(hash);
    if (is_read) request.cached_tokens = guess_tokens(bytes);
    keep(hash);
  }
}

bool PromptCache::is_kept(uint64_t prefix) {
  auto found = kept_until_ms_.find(prefix);
  return found != kept_until_ms_.end() && found->second > now_ms_();
}

void PromptCache::keep(uint64_t prefix) {
  auto [entry, is_new] = kept_until_ms_.try_emplace(prefix, 0);
  entry->second = now_ms_() + kept_ms;
  if (!is_new) return;
  oldest_first_.push_back(prefix);
  if (oldest_first_.size() <= prefixes_max) return;
  kept_until_ms_.erase(oldest_first_.front());
  oldest_first_.pop_front();
}

void PromptCache::reset() {
  kept_until_ms_.clear();
  oldest_first_.clear();
}

}  // namespace hostler::fake_model
