// Many networks, asked often: a sorted set of ranges, so that a look-up costs the same for ten and
// for a hundred thousand. For the operator's lists of risky addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/net/address_guard.h"

namespace hostler::net {

class NetworkSet {
 public:
  // False, and nothing added, when the text is no CIDR. After the last one comes arrange().
  bool add(std::string_view cidr);
  // Sorts and joins: only then may contains() be asked.
  void arrange();
  bool contains(const IpAddress& address) const;
  size_t size() const { return ranges_.size(); }

 private:
  // An address as 16 bytes that sort; IPv4 is mapped into ::ffff:0:0/96.
  using Key = std::array<uint8_t, 16>;
  static Key key_of(const IpAddress& address);
  struct Range {
    Key first;
    Key last;
  };
  std::vector<Range> ranges_;
};

}  // namespace hostler::net
