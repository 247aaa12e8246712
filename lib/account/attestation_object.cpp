// See lib/account/attestation_object.h.
#include "lib/account/attestation_object.h"

#include <cstdint>

namespace hostler::account {
namespace {

constexpr int depth_max = 8;

enum class Major : uint8_t {
  unsigned_number,
  negative_number,
  bytes,
  text,
  array,
  map,
  tag,
  other
};

struct Head {
  Major major;
  uint64_t value;
};

// Reads one item after the other; nothing once a piece is missing. Items of indefinite length are
// refused: canonical CBOR (FIDO's CTAP2) has none.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<Head> head() {
    if (rest_.empty()) return std::nullopt;
    auto first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    Head head{static_cast<Major>(first >> 5), first & 31U};
    if (head.value < 24) return head;
    if (head.value > 27) return std::nullopt;
    size_t count = size_t{1} << (head.value - 24);
    std::optional<std::string_view> bytes = take(count);
    if (!bytes) return std::nullopt;
    head.value = 0;
    for (char byte : *bytes) head.value = head.value << 8 | static_cast<unsigned char>(byte);
    return head;
  }

  std::optional<std::string_view> take(uint64_t count) {
    if (count > rest_.size()) return std::nullopt;
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  bool skip(int depth = 0) {
    std::optional<Head> item = head();
    if (!item || depth > depth_max) return false;
    if (item->major == Major::bytes || item->major == Major::text) {
      return take(item->value).has_value();
    }
    bool is_list = item->major == Major::array || item->major == Major::map;
    if (!is_list) return item->major != Major::tag || skip(depth + 1);
    if (item->value > rest_.size()) return false;
    uint64_t items = item->major == Major::map ? item->value * 2 : item->value;
    for (uint64_t i = 0; i < items; ++i) {
      if (!skip(depth + 1)) return false;
    }
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<std::string> authenticator_part_of(std::string_view attestation_object) {
  Reader reader(attestation_object);
  std::optional<Head> map = reader.head();
  if (!map || map->major != Major::map || map->value > 8) return std::nullopt;
  for (uint64_t i = 0; i < map->value; ++i) {
    std::optional<Head> key = reader.head();
    if (!key || key->major != Major::text) return std::nullopt;
    std::optional<std::string_view> name = reader.take(key->value);
    if (!name) return std::nullopt;
    if (*name != "authData") {
      if (!reader.skip()) return std::nullopt;
      continue;
    }
    std::optional<Head> value = reader.head();
    if (!value || value->major != Major::bytes) return std::nullopt;
    std::optional<std::string_view> bytes = reader.take(value->value);
    if (!bytes) return std::nullopt;
    return std::string(*bytes);
  }
  return std::nullopt;
}

}  // namespace hostler::account
