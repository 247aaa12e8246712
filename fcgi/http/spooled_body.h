// The body of an upload, on the disk instead of in memory: a file without a name, which goes with
// its last owner. Written once by fcgi/connection.cpp, then only read, from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/sha256.h"

namespace hostler {

class SpooledBody {
 public:
  static constexpr size_t chunk_bytes = 64 << 10;

  SpooledBody();
  ~SpooledBody();
  SpooledBody(const SpooledBody&) = delete;
  SpooledBody& operator=(const SpooledBody&) = delete;

  // False: the disk is full, or there is no file; nothing more is taken then.
  bool add(std::string_view bytes);
  void end();  // after the last bytes

  bool is_full() const { return is_full_; }
  int64_t bytes() const { return bytes_; }
  const std::string& sha256() const { return sha256_; }  // of all of it; after end()
  // At most so many bytes from there. Throws internal_error when the disk fails.
  std::string read(int64_t offset, size_t count) const;

 private:
  int fd_;
  int64_t bytes_ = 0;
  bool is_full_ = false;
  Sha256 hash_;
  std::string sha256_;
};

}  // namespace hostler
