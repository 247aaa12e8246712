// Which of several hosts of a connection string is tried first. libpq always begins with the one
// that stands first, and the time limit is ours: behind a first host that swallows packets the
// others would never have their turn. Used by lib/postgres/connection.cpp, and by hostlerctl
// doctor, which looks at each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hostler::postgres {

class HostOrder {
 public:
  // conninfo is a URL or a string of libpq; with at most one host there is nothing to order.
  explicit HostOrder(const std::string& conninfo);

  // Whether any of them is reached over the network, and not through a socket's folder.
  bool names_tcp_host() const;
  // The next one begins.
  void turn();
  // Moves this host, as libpq names it, to the end, because waiting for it failed. All others are
  // tried before it again. If it is not in the list, the next one begins.
  void put_last(std::string_view host, std::string_view port);
  // Keywords of libpq and their values, to be given after the connection string; none for one host.
  struct Word {
    const char* name;
    std::string value;
  };
  std::vector<Word> words() const;

  size_t count() const { return count_; }  // 0: the default one, a socket
  // The same for one of them alone, counted from 0, in the order of conninfo.
  std::vector<Word> words_of_one(size_t index) const;

 private:
  struct List {
    const char* name;
    std::vector<std::string> values;  // one a host, or none
  };
  std::vector<List> lists_;
  size_t first_ = 0;
  size_t count_ = 0;
};

// Fault of a connection URL or string in itself, empty without one. libpq may quote a password in
// its message, so that part is left out.
std::string conninfo_fault(const std::string& conninfo);

}  // namespace hostler::postgres
