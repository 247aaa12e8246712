// Input that a provider caches, and the part of a later request that it need not read again.
// Anthropic's: up to the blocks that the request marks. OpenAI's: by itself. One for all who call;
// kept for five minutes after its last use, in bounded memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

// Shorter prompts are not kept: what most of Anthropic's models and all of OpenAI's ask for.
constexpr int64_t cached_tokens_min = 1024;

class PromptCache {
 public:
  // The clock: milliseconds of any beginning.
  explicit PromptCache(std::function<int64_t()> now_ms) : now_ms_(std::move(now_ms)) {}

  // Sets the tokens that were read from the cache and written to it, and keeps the prompt.
  void count(ChatRequest& request);
  void reset();

 private:
  void count_marked(ChatRequest& request);
  void count_by_itself(ChatRequest& request);
  bool is_kept(uint64_t prefix);
  void keep(uint64_t prefix);

  std::function<int64_t()> now_ms_;
  std::unordered_map<uint64_t, int64_t> kept_until_ms_;  // by the hash of a prefix
  std::deque<uint64_t> oldest_first_;
};

}  // namespace hostler::fake_model
