// Fuzzes requests for a way out of the host: the first byte decides how the rest is cut into
// pieces. A whole request means the same however it was cut, and names a host that a log can bear.
#include "runner/egress/socks_request.h"

#include <algorithm>

#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

using runner::SocksReader;
using runner::SocksTarget;

// Piece by piece until the reader has an opinion; what it took of the bytes.
std::string_view feed(SocksReader& reader, std::string_view bytes, size_t piece_bytes) {
  size_t taken = 0;
  SocksReader::State state = SocksReader::State::greeting;
  while (taken < bytes.size() && state != SocksReader::State::whole &&
         state != SocksReader::State::broken) {
    std::string_view piece = bytes.substr(taken, piece_bytes);
    state = reader.take(piece);
    taken += piece.size();
  }
  return bytes.substr(0, taken);
}

bool is_bearable(const SocksTarget& target) {
  return !target.host.empty() && target.host.size() <= 255 && target.port >= 0 &&
         target.port <= 65535 && std::all_of(target.host.begin(), target.host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                  c == '_' || c == ':';
         });
}

}  // namespace

void socks(std::string_view input) {
  size_t piece_bytes = take_byte(input) + 1;
  SocksReader cut;
  std::string_view taken = feed(cut, input, piece_bytes);
  SocksReader::State state = cut.take({});
  SocksReader at_once;
  require(at_once.take(taken) == state, "pieces change nothing");
  if (state == SocksReader::State::whole) {
    require(at_once.target() == cut.target(), "pieces change nothing");
    require(is_bearable(cut.target()), "a target is a host and a port");
    require(taken.size() >= 3 + 8, "a request has at least so many bytes");
    require(cut.take("more") == SocksReader::State::whole, "whole stays whole");
  } else if (state == SocksReader::State::broken) {
    require(cut.fault()[0] != '\0', "a fault says what it is");
    require(cut.last_words().empty() || cut.last_words()[0] == 5, "the last words are SOCKS 5");
    require(cut.take("more") == SocksReader::State::broken, "broken stays broken");
  }
}

}  // namespace hostler::fuzz
