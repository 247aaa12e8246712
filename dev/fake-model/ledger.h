// Requests to the fake model and their outcomes, for tests: GET and DELETE /_requests. Keeps the
// last hundred requests in bounded memory and never a key.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "dev/fake-model/http_server.h"

namespace hostler::fake_model {

class Ledger {
 public:
  void begin(uint64_t number, const HttpRequest& request);
  void stream(uint64_t number);
  void end(uint64_t number, int status, Outcome outcome);

  // Forgets all that has ended; what is open now stays counted as open.
  void reset();
  std::string dump() const;

 private:
  struct Entry {
    uint64_t number;
    int64_t began_unix_ms;
    int64_t took_ms = -1;  // -1: open
    std::string method;
    std::string target;
    std::vector<HeaderField> fields;
    std::string body;
    bool body_cut;
    int status = 0;
    bool streams = false;
    Outcome outcome = Outcome::finished;
  };
  struct Open {
    bool streams = false;
  };

  Entry* find(uint64_t number);

  std::deque<Entry> entries_;
  std::map<uint64_t, Open> open_;
  std::map<std::string, int64_t, std::less<>> counts_;  // by what was asked for
  int64_t requests_ = 0;
  int64_t finished_ = 0;
  int64_t aborted_by_client_ = 0;
  int64_t cut_by_server_ = 0;
  int64_t open_streams_ = 0;
  int64_t open_max_ = 0;
};

}  // namespace hostler::fake_model
