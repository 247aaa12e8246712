// Ranges sorted and searched; see lib/net/network_set.h.
#include "lib/net/network_set.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "lib/net/client_address.h"

namespace hostler::net {

NetworkSet::Key NetworkSet::key_of(const IpAddress& address) {
  if (!address.is_v4) return address.bytes;
  Key key{};
  key[10] = key[11] = 0xff;
  std::copy_n(address.bytes.begin(), 4, key.begin() + 12);
  return key;
}

bool NetworkSet::add(std::string_view cidr) {
  std::optional<std::string> canonical = canonical_network(cidr);
  if (!canonical) return false;
  size_t slash = canonical->find('/');
  IpAddress address = *IpAddress::parse(std::string_view(*canonical).substr(0, slash));
  size_t bits = 0;
  std::from_chars(canonical->data() + slash + 1, canonical->data() + canonical->size(), bits);
  if (address.is_v4) bits += 96;
  Range range{key_of(address), key_of(address)};
  for (size_t bit = bits; bit < 128; ++bit) {
    range.last[bit / 8] = static_cast<uint8_t>(range.last[bit / 8] | 0x80 >> (bit % 8));
  }
  ranges_.push_back(range);
  return true;
}

void NetworkSet::arrange() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  // Two networks either are apart or one contains the other. The larger one came first.
  std::vector<Range> joined;
  for (const Range& range : ranges_) {
    if (joined.empty() || joined.back().last < range.first) joined.push_back(range);
  }
  ranges_ = std::move(joined);
}

bool NetworkSet::contains(const IpAddress& address) const {
  Key key = key_of(address);
  auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), key,
                       [](const Key& wanted, const Range& range) { return wanted < range.first; });
  return after != ranges_.begin() && key <= std::prev(after)->last;
}

}  // namespace hostler::net
