// Peers that Hostler calls, for tests: a receiver of webhooks with TLS and a mail server, each a
// program of its own that writes down what it got. Both have a certificate that only its own file
// vouches for, valid for 127.0.0.1 and localhost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/json.h"
#include "tests/support/rigs/child.h"

namespace hostler::testing_support {

class OutsidePeer {
 public:
  // script: of tests/support; arguments go before certificate, key and record.
  OutsidePeer(const std::string& script, std::vector<std::string> arguments);
  ~OutsidePeer();
  OutsidePeer(const OutsidePeer&) = delete;
  OutsidePeer& operator=(const OutsidePeer&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path) const;
  // Returns what it wrote down so far, oldest first.
  std::vector<Json> records() const;
  // Waits until it has written down that many, 20 s at most; what there is then.
  std::vector<Json> wait_for_records(size_t count) const;
  // The certificate of every peer of this program, for outbound.ca_file.
  static std::string ca_file();

 private:
  std::string record_;
  std::unique_ptr<Child> child_;
  int port_ = 0;
};

// tests/support/peers/webhook_receiver.py says what its paths do.
inline std::unique_ptr<OutsidePeer> start_receiver() {
  return std::make_unique<OutsidePeer>("webhook_receiver.py", std::vector<std::string>{});
}
// mode: plain, starttls, tls or auth; tests/support/peers/mail_server.py says what they mean.
inline std::unique_ptr<OutsidePeer> start_mail_server(const std::string& mode) {
  return std::make_unique<OutsidePeer>("mail_server.py", std::vector<std::string>{mode});
}

}  // namespace hostler::testing_support
