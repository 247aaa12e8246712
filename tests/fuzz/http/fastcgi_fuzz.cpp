// FastCGI parameters, a line each: what the request says is what some parameter says, its length
// is never negative, its trace id always has the form.
#include <vector>

#include "fcgi/http/request.h"
#include "lib/account/caller.h"
#include "lib/client/gateway.h"
#include "lib/client/trace.h"
#include "lib/ids.h"
#include "lib/net/client_address.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/targets.h"

namespace hostler::fuzz {
namespace {

bool is_value_of(const std::vector<std::string>& lines, std::string_view name,
                 std::string_view value) {
  return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) {
    line = line.substr(0, line.find('\0'));
    return line.starts_with(name) && line.substr(name.size()).starts_with('=') &&
           line.substr(name.size() + 1) == value;
  });
}

void check_facts(const Request& request) {
  client::RequestOrigin origin;
  origin.address = {request.peer_address, request.forwarded_for, request.connecting_ip};
  origin.traceparent = request.traceparent;
  origin.user_agent = request.user_agent;
  origin.authorization = request.authorization;
  static const client::Gateway gateway{config::Settings()};
  client::ClientFacts facts = gateway.facts_of(origin);
  require(net::IpAddress::parse(facts.client_ip).has_value(), "a client has an address");
  require(facts.risk_score >= 0 && facts.risk_score <= 1, "a risk is 0 to 1");
  std::optional<std::string> trace_id = client::trace_id_of(request.traceparent);
  if (!trace_id) return;
  require(is_trace_id(*trace_id), "a trace id has the form");
  require(client::trace_id_of(client::traceparent_of(*trace_id)) == trace_id,
          "what we send on says the same");
}

}  // namespace

void fastcgi(std::string_view input) {
  std::vector<std::string> lines;
  while (!input.empty()) lines.emplace_back(take_line(input));
  std::vector<const char*> params;
  for (const std::string& line : lines) params.push_back(line.c_str());
  params.push_back(nullptr);
  Request request = request_of(params.data());
  require(request.content_length >= 0, "a length is not negative");
  require(is_trace_id(request.trace_id), "every request has a trace id");
  require(request.uri.empty() || is_value_of(lines, "REQUEST_URI", request.uri), "the address");
  require(request.authorization.empty() ||
              is_value_of(lines, "HTTP_AUTHORIZATION", request.authorization),
          "the credential");
  require(request.connecting_ip.empty() || request.connecting_ip == "twice" ||
              is_value_of(lines, "HTTP_CF_CONNECTING_IP", request.connecting_ip),
          "CF-Connecting-IP");
  std::string_view host = request.header("HTTP_HOST");
  require(host.empty() || is_value_of(lines, "HTTP_HOST", host), "any other field");
  require(request.method == Method::other ||
              is_value_of(lines, "REQUEST_METHOD", method_name(request.method)),
          "the method");
  check_facts(request);
  std::variant<account::Credential, Error> read = account::credential_in(request.authorization);
  if (const account::Credential* credential = std::get_if<account::Credential>(&read)) {
    require(credential->kind != account::Credential::Kind::none && credential->hash.size() == 32,
            "a credential is a hash of 32 bytes");
  } else {
    require(std::get<Error>(read).status() == 401, "what is none is 401");
  }
}

}  // namespace hostler::fuzz
