// See lib/sha256.h. OpenSSL's digest.
#include "lib/sha256.h"

#include <openssl/evp.h>

#include "lib/error.h"

namespace hostler {
namespace {

EVP_MD_CTX* context_of(void* state) { return static_cast<EVP_MD_CTX*>(state); }

void need(bool has_worked) {
  if (!has_worked) throw Error(ErrorCode::internal_error, {}, "OpenSSL cannot hash");
}

}  // namespace

Sha256::Sha256()
    : state_(EVP_MD_CTX_new(), [](void* state) { EVP_MD_CTX_free(context_of(state)); }) {
  need(state_ && EVP_DigestInit_ex(context_of(state_.get()), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(std::string_view bytes) {
  need(EVP_DigestUpdate(context_of(state_.get()), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::take() {
  std::string out(32, '\0');
  unsigned length = 0;
  need(EVP_DigestFinal_ex(context_of(state_.get()), reinterpret_cast<unsigned char*>(out.data()),
                          &length) == 1);
  return out;
}

}  // namespace hostler
