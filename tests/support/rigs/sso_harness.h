// Logins with OpenID providers, with the real daemon and a provider that says and lies as a test
// wants (tests/support/peers/openid_provider.py).
#pragma once

#include <string>
#include <string_view>

#include "tests/support/peers/outside_peers.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

// With a daemon, and the address of the site set; started at the first call.
ApiStack& sso_stack();
OutsidePeer& openid_peer();

// A provider of its own at the peer, as an owner or a platform administrator added it.
struct TestProvider {
  std::string id;
  std::string key;
  std::string name;  // at the peer
  std::string scope;
  std::string domain;  // of an organization's provider: granted to it alone

  std::string issuer() const { return openid_peer().url("/" + name); }
  // Changes what the provider says from now on: JSON, as the peer takes it.
  void set(const std::string& members) const;
  // A logout token with these claims over the usual ones, in JSON without braces.
  std::string logout_token(const std::string& claims) const;
  // Claims of the next ID tokens, in JSON without braces.
  void say(const std::string& claims) const { set("{\"claims\":{" + claims + "}}"); }
};

// further: members in JSON, with a comma before them.
TestProvider add_platform_provider(const std::string& further = "");
// For the organization of this client, whose owner acts; its domain is granted first.
TestProvider add_org_provider(const Client& owner, const std::string& further = "");

// A browser on its way: the address that it opens, and the cookie of the flow.
struct Flow {
  std::string url;
  std::string cookie;  // NAME=VALUE

  // The provider's page, which says yes at once; answers the path with query of the callback.
  std::string path_back() const;
};
Flow begin_flow(const TestProvider& provider, const std::string& further = "");

// The callback, and where it leads: the part of the address behind /console/#.
struct Landing {
  std::string route;
  std::string refresh;      // the cookie of a session; empty: none
  std::string flow_cookie;  // the cookie that is set for the flow; its value is empty when cleared

  std::string value(std::string_view name) const;  // of the route's query
  std::string error() const { return value("error"); }
};
Landing land(const std::string& path_back, const std::string& cookie);
// All of it.
Landing sign_in(const TestProvider& provider);

// Acts with the session of a landing.
Client client_of(const Landing& landing);

}  // namespace hostler::testing_support
