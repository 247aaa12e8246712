// Networks, a CIDR a line, and an address in the first line: the two sets of networks and the form
// that rules are stored in agree about what is within.
#include "lib/net/network_set.h"

#include "lib/net/client_address.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

// The set of networks takes IPv4 and its form in IPv6 for one; the list does not.
bool wraps_v4(std::string_view canonical) {
  return canonical.find(':') != std::string_view::npos && canonical.starts_with("::");
}

}  // namespace

void network(std::string_view input) {
  std::optional<net::IpAddress> asked = net::IpAddress::parse(take_line(input));
  net::CidrList list;
  net::NetworkSet set;
  bool is_comparable = true;
  while (!input.empty()) {
    std::string_view line = take_line(input);
    std::optional<std::string> canonical = net::canonical_network(line);
    net::CidrList one;
    require(one.add(line) == canonical.has_value(), "all readers take the same networks");
    require(set.add(line) == canonical.has_value(), "all readers take the same networks");
    if (!canonical) continue;
    require(net::canonical_network(*canonical) == canonical, "the stored form is its own");
    list.add(*canonical);
    is_comparable = is_comparable && !wraps_v4(*canonical);
    std::string first = canonical->substr(0, canonical->find('/'));
    require(list.contains(*net::IpAddress::parse(first)), "a network holds its first address");
  }
  size_t added = set.size();
  set.arrange();
  require(set.size() <= added, "joining makes no network more");
  if (!asked || !is_comparable) return;
  std::optional<net::IpAddress> plain = net::parse_hop(asked->text());
  require(plain.has_value(), "an address is a hop");
  require(set.contains(*asked) == list.contains(*plain), "list and set agree");
}

}  // namespace hostler::fuzz
