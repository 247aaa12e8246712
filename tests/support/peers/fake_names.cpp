// Replaces getaddrinfo in the test program. See tests/support/peers/fake_names.h.
#include "tests/support/peers/fake_names.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cassert>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

namespace hostler::testing_support {
namespace {

std::mutex mutex;
std::condition_variable changed;
FakeLookup current;
int under_way = 0;

// One element as the C library allocates it, so that its freeaddrinfo fits.
addrinfo* make_element(const std::string& text, int port, int socket_type) {
  void* memory = std::calloc(1, sizeof(addrinfo) + sizeof(sockaddr_in6));
  addrinfo* element = static_cast<addrinfo*>(memory);
  sockaddr_in* v4 = reinterpret_cast<sockaddr_in*>(element + 1);
  sockaddr_in6* v6 = reinterpret_cast<sockaddr_in6*>(element + 1);
  bool is_v4 = inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1;
  if (!is_v4) inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr);
  (is_v4 ? v4->sin_port : v6->sin6_port) = htons(static_cast<uint16_t>(port));
  element->ai_family = is_v4 ? AF_INET : AF_INET6;
  element->ai_addr = reinterpret_cast<sockaddr*>(element + 1);
  element->ai_addr->sa_family = static_cast<sa_family_t>(element->ai_family);
  element->ai_addrlen = is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  element->ai_socktype = socket_type;
  return element;
}

int answer_fake(const std::string& name, const char* service, int socket_type, addrinfo** result) {
  FakeLookup lookup;
  {
    std::lock_guard<std::mutex> lock(mutex);
    lookup = current;
    ++under_way;
  }
  std::vector<std::string> addresses;
  if (lookup) addresses = lookup(name);
  int port = service == nullptr ? 0 : static_cast<int>(std::strtol(service, nullptr, 10));
  addrinfo** next = result;
  *result = nullptr;
  for (const std::string& address : addresses) {
    *next = make_element(address, port, socket_type);
    next = &(*next)->ai_next;
  }
  std::lock_guard<std::mutex> lock(mutex);
  --under_way;
  changed.notify_all();
  return addresses.empty() ? EAI_NONAME : 0;
}

}  // namespace

FakeNames::FakeNames(FakeLookup lookup) {
  std::lock_guard<std::mutex> lock(mutex);
  assert(!current);
  current = std::move(lookup);
}

FakeNames::~FakeNames() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [] { return under_way == 0; });
  current = nullptr;
}

}  // namespace hostler::testing_support

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  bool is_fake = name != nullptr && std::string_view(name).ends_with(".fake-names.test");
  if (is_fake) {
    int socket_type = hints == nullptr ? 0 : hints->ai_socktype;
    return hostler::testing_support::answer_fake(name, service, socket_type, result);
  }
  static const Lookup real = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, result);
}
