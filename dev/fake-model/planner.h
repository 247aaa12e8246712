// Decides what one request is answered: which turn of the script, which failures still apply. The
// only state beside the request is a bounded count of failures already shown to a conversation.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <variant>

#include "dev/fake-model/chat.h"
#include "dev/fake-model/script.h"

namespace hostler::fake_model {

// Messages of the user in a row come as one, parted by blank lines: the newest that has commands.
// Blank lines between brackets part nothing.
std::string_view newest_script(std::string_view text);

class Planner {
 public:
  // body: the request as it came, for the habits that look at its members.
  std::variant<Turn, Refusal> plan(const ChatRequest& request, const Json& body = Json());
  // Every failure counts from its beginning again.
  void reset();

 private:
  std::variant<Turn, Refusal> with_failures(Turn turn, const ChatRequest& request);
  bool fails_still(const Step& step, uint64_t step_key);

  std::unordered_map<uint64_t, int64_t> failures_;  // by conversation and place in its script
  std::deque<uint64_t> oldest_first_;
};

}  // namespace hostler::fake_model
