// Messages between nginx and the pool, byte by byte: FastCGI 1.0 without nginx.
#pragma once

#include <string>

namespace hostler::testing_support {

// Section 3.3 of FastCGI 1.0: one record, of request 1.
std::string fastcgi_record(char type, const std::string& content);

// A request as a responder, whose connection may be kept: so says nginx. token may be empty.
std::string fastcgi_text(const std::string& path, const std::string& token,
                         const std::string& method = "GET");

// A connection to a pool's socket. Reads wait 20 s at most.
class FastcgiClient {
 public:
  explicit FastcgiClient(const std::string& socket_path);
  ~FastcgiClient();
  FastcgiClient(const FastcgiClient&) = delete;
  FastcgiClient& operator=(const FastcgiClient&) = delete;

  void send(const std::string& bytes) const;
  // Returns what came up to the record that ends the request; shorter when the connection ended
  // before.
  std::string answer();
  // Waits for the end of the connection; false: something else came, or nothing.
  bool ends();

 private:
  bool read(std::string& into, size_t size) const;
  int fd_;
};

}  // namespace hostler::testing_support
