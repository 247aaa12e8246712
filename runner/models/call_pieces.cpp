// See runner/models/call_pieces.h. tests/unit/models/call_pieces_test.cpp lists what servers send.
#include "runner/models/call_pieces.h"

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr size_t word_bytes_max = 256;

bool begins_object(std::string_view arguments) {
  return ascii::trimmed(arguments, ascii::white_space).starts_with('{');
}

bool is_object(std::string_view text) {
  JsonProgress progress;
  progress.add(text);
  if (!progress.is_whole()) return false;
  std::optional<Json> value = parse_json_or_nothing(text);
  return value && value->is_object();
}

}  // namespace

std::optional<size_t> CallPieces::call_of(const CallPiece& piece) const {
  if (piece.id.empty()) return call_without_id(piece);
  auto known = ids_.find(std::string(piece.id.substr(0, word_bytes_max)));
  if (known != ids_.end()) {
    if (is_other_by_id(piece, calls_[known->second])) return std::nullopt;
    return known->second;
  }
  // Servers that make up an id for each piece name the tool once.
  if (piece.name.empty()) return call_without_id(piece);
  auto indexed = piece.index ? indexes_.find(*piece.index) : indexes_.end();
  if (indexed == indexes_.end()) return std::nullopt;
  const Call& call = calls_[indexed->second];
  bool gets_its_id = call.id.empty() && !call.progress.is_whole() &&
                     (call.name.empty() || call.name == piece.name);
  if (!gets_its_id) return std::nullopt;
  return indexed->second;
}

// One id for all calls.
bool CallPieces::is_other_by_id(const CallPiece& piece, const Call& call) const {
  if (piece.name.empty()) return false;
  if (piece.index && call.index && *piece.index != *call.index) return true;
  return piece.name != call.name && call.progress.is_whole() && begins_object(piece.arguments);
}

std::optional<size_t> CallPieces::call_without_id(const CallPiece& piece) const {
  if (calls_.empty()) return std::nullopt;
  size_t last = calls_.size() - 1;
  if (piece.index) {
    auto known = indexes_.find(*piece.index);
    if (known != indexes_.end()) {
      if (begins_anew(piece, known->second)) return std::nullopt;
      return known->second;
    }
    // Its name may still come, unless a call is open.
    if (!piece.name.empty() || calls_[last].progress.is_whole()) return std::nullopt;
    return last;
  }
  if (begins_anew(piece, last)) return std::nullopt;
  return last;
}

// Whether a named piece without a new id is another call than the one in its place.
bool CallPieces::begins_anew(const CallPiece& piece, size_t nth) const {
  if (piece.name.empty()) return false;
  const Call& call = calls_[nth];
  if (piece.id.empty() && nth >= delta_begins_at_) return true;
  bool is_same_name = piece.name == call.name;
  if (!call.progress.has_begun()) return !piece.index && !is_same_name && !call.name.empty();
  bool has_object = begins_object(piece.arguments);
  if (!call.progress.is_whole()) return has_object && !is_same_name;
  if (!has_object) return !is_same_name;
  return !is_same_name || piece.arguments != arguments_of_(nth);
}

void CallPieces::open(const CallPiece& piece) {
  Call call;
  call.index = piece.index;
  if (piece.index) indexes_[*piece.index] = calls_.size();
  calls_.push_back(std::move(call));
}

void CallPieces::take(size_t nth, const CallPiece& piece) {
  Call& call = calls_[nth];
  if (call.id.empty() && !piece.id.empty()) {
    call.id = utf8_prefix(piece.id, word_bytes_max);
    ids_[call.id] = nth;
  }
  join_name(call.name, piece.name);
  if (piece.arguments.empty()) return;
  call.progress.add(piece.arguments);
  if (call.bytes == 0) call.first_end = piece.arguments.size();
  call.last_begin = call.bytes;
  call.bytes += piece.arguments.size();
}

std::optional<std::string_view> CallPieces::finished(size_t nth, std::string_view joined) const {
  const Call& call = calls_[nth];
  // Arguments that were left out for their size are not checked, nor those that came in one piece.
  if (joined.size() != call.bytes || call.last_begin == 0 || is_object(joined)) return std::nullopt;
  std::string_view last = joined.substr(call.last_begin);
  std::string_view before = joined.substr(0, call.last_begin);
  std::string_view first = joined.substr(0, call.first_end);
  if (ascii::trimmed(first, ascii::white_space) == "{}") {
    std::string_view rest = joined.substr(call.first_end);
    if (is_object(rest)) return rest;
  }
  bool repeats = last == before || last.starts_with(first);
  if (repeats && is_object(last)) return last;
  return std::nullopt;
}

void join_name(std::string& name, std::string_view piece) {
  if (piece.empty() || name == piece || name.size() >= word_bytes_max) return;
  bool is_all_so_far = !name.empty() && piece.starts_with(name);
  if (is_all_so_far) name.clear();
  name += utf8_prefix(piece, word_bytes_max);
}

}  // namespace hostler
