// How servers write streams that the API references do not show: lines, pieces of calls, errors
// within a stream. A script names each: [stream …], [pieces …], [error-in-stream …].
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dev/fake-model/chat.h"

namespace hostler::fake_model {

std::span<const std::string_view> stream_habit_names();

// Rewrites a stream's bytes as the habits say. Takes whole lines at a time.
class OddLines {
 public:
  void add(std::string_view habit);
  std::string rewritten(std::string_view lines);

 private:
  bool has_crlf_ = false;
  bool has_cr_ = false;
  bool has_bom_ = false;
  bool has_comments_ = false;
  bool is_split_ = false;
  bool has_empty_errors_ = false;
  bool lacks_space_ = false;
  bool has_begun_ = false;
  size_t events_ = 0;
};

std::span<const std::string_view> call_piece_names();
// The members of one delta after the other that hold these calls, in OpenAI's form.
std::vector<std::string> odd_call_deltas(std::string_view habit,
                                         const std::vector<ToolCall>& calls);

std::span<const std::string_view> stream_error_names();
// The bytes of an error in the midst of a stream.
std::string odd_stream_error(std::string_view habit);

}  // namespace hostler::fake_model
