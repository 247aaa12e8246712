// Settings and lists applied to one request; see lib/client/gateway.h.
#include "lib/client/gateway.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "lib/ascii.h"
#include "lib/client/risk.h"
#include "lib/client/trace.h"
#include "lib/error.h"

namespace hostler::client {
namespace {

constexpr size_t networks_max = 1'000'000;
constexpr size_t line_bytes_max = 1024;

// Without remark and white space.
std::string_view network_of(std::string_view line) {
  return ascii::trimmed(line.substr(0, line.find('#')), " \t\r\n");
}

[[noreturn]] void throw_unreadable(const std::string& path) {
  throw Error(ErrorCode::internal_error, {},
              fmt::format("gateway.risk_files: {}: {}", path, std::strerror(errno)));
}

void read_networks(const std::string& path, net::NetworkSet& networks) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file) throw_unreadable(path);
  char line[line_bytes_max];
  for (int number = 1; std::fgets(line, sizeof line, file.get()) != nullptr; ++number) {
    std::string_view network = network_of(line);
    if (network.empty()) continue;
    bool has_room = networks.size() < networks_max;
    if (has_room && networks.add(network)) continue;
    std::string_view why = has_room ? "this is not a CIDR" : "there are too many networks";
    throw Error(ErrorCode::internal_error, {},
                fmt::format("gateway.risk_files: {}:{}: {}", path, number, why));
  }
  if (std::ferror(file.get()) != 0) throw_unreadable(path);
}

}  // namespace

RiskyNetworks load_risky_networks(const config::Settings& start) {
  std::shared_ptr<net::NetworkSet> networks = std::make_shared<net::NetworkSet>();
  for (const std::string& path : start.strings("gateway.risk_files")) {
    read_networks(path, *networks);
  }
  networks->arrange();
  return networks;
}

Gateway::Gateway(const config::Settings& settings, RiskyNetworks risky)
    : risk_reject_threshold_(settings.number("gateway.risk_reject_threshold")),
      requires_proof_(settings.boolean("auth.require_email_verification")),
      risky_(std::move(risky)) {
  std::string_view factor = settings.text("auth.require_factor");
  if (factor != "none") requires_factor_ = factor;
  policy_.mode = net::ip_mode_named(settings.text("gateway.ip_mode"));
  for (const std::string& network : settings.strings("gateway.trusted_cidrs")) {
    std::optional<std::string> canonical = net::canonical_network(network);
    if (canonical) policy_.trusted.add(*canonical);
  }
}

ClientFacts Gateway::facts_of(const RequestOrigin& origin) const {
  ClientFacts facts;
  facts.client_ip = net::client_address(policy_, origin.address);
  RiskFacts risk{origin.user_agent, !origin.authorization.empty(), false};
  if (risky_ && risky_->size() > 0) {
    std::optional<net::IpAddress> address = net::IpAddress::parse(facts.client_ip);
    risk.is_listed = address && risky_->contains(*address);
  }
  facts.risk_score = risk_score(risk);
  facts.is_risky = risk_reject_threshold_ > 0 && facts.risk_score >= risk_reject_threshold_;
  facts.needs_proof = requires_proof_;
  facts.needs_factor = requires_factor_;
  if (policy_.trusts(origin.address.peer)) facts.trace_id = trace_id_of(origin.traceparent);
  return facts;
}

}  // namespace hostler::client
