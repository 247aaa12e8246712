// SHA-256 of bytes that come in pieces. Of a text that is there at once: sha256() of lib/crypto.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hostler {

class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  std::string take();  // 32 bytes; once

 private:
  std::unique_ptr<void, void (*)(void*)> state_;
};

}  // namespace hostler
