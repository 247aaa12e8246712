// Facts that the settings derive from a request before anybody is asked: the client's address, the
// trace it belongs to, its risk, and whether its sender needs a verified mail address. A snapshot:
// pool and daemon make a new one when settings change. It refuses nobody. The database does,
// because it knows who calls.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/config/settings.h"
#include "lib/net/client_address.h"
#include "lib/net/network_set.h"

namespace hostler::client {

// The operator's lists of risky networks, read once at the start.
using RiskyNetworks = std::shared_ptr<const net::NetworkSet>;

// Reads the files of gateway.risk_files: a CIDR a line, what follows a # is a remark. Throws
// internal_error that names file and line when one cannot be read.
RiskyNetworks load_risky_networks(const config::Settings& start);

// Values as nginx passes them on; absent fields are empty.
struct RequestOrigin {
  net::AddressHeaders address;
  std::string_view traceparent;
  std::string_view user_agent;
  std::string_view authorization;
};

struct ClientFacts {
  std::string client_ip;
  double risk_score = 0;
  bool is_risky = false;                // the score has reached the threshold
  bool needs_proof = false;             // only callers with a proved mail address are served
  std::string needs_factor;             // of whom: platform_admins or everyone; empty: of nobody
  std::optional<std::string> trace_id;  // of a trusted proxy
};

class Gateway {
 public:
  explicit Gateway(const config::Settings& settings, RiskyNetworks risky = nullptr);
  ClientFacts facts_of(const RequestOrigin& origin) const;

 private:
  net::AddressPolicy policy_;
  double risk_reject_threshold_;
  bool requires_proof_;
  std::string requires_factor_;
  RiskyNetworks risky_;
};

}  // namespace hostler::client
