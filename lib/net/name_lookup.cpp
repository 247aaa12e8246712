// See lib/net/name_lookup.h.
#include "lib/net/name_lookup.h"

#include <netdb.h>
#include <uv.h>

#include <memory>
#include <utility>

#include "lib/loop/wait.h"

namespace hostler::net {
namespace {

// A look-up that runs cannot be stopped: what it touches lives until its callback ran.
struct Lookup {
  uv_getaddrinfo_t request;
  std::vector<IpAddress> addresses;
  std::shared_ptr<Lookup> while_it_runs;  // keeps itself
  std::shared_ptr<void> kept;             // the caller's, until the thread is free
  loop::Signal answered;
};

void finish(uv_getaddrinfo_t* request, int status, addrinfo* found) noexcept {
  std::shared_ptr<Lookup> lookup = std::move(static_cast<Lookup*>(request->data)->while_it_runs);
  for (addrinfo* each = status == 0 ? found : nullptr; each != nullptr; each = each->ai_next) {
    std::optional<IpAddress> address = IpAddress::from_socket(each->ai_addr);
    if (address) lookup->addresses.push_back(*address);
  }
  uv_freeaddrinfo(found);
  lookup->kept.reset();
  lookup->answered.notify();
}

// A caller that leaves before the answer takes back a look-up that no thread has begun. A name that
// hangs keeps its thread, but no queue builds up.
class Asker {
 public:
  explicit Asker(Lookup& lookup) : lookup_(lookup) {}
  ~Asker() {
    if (lookup_.while_it_runs) uv_cancel(reinterpret_cast<uv_req_t*>(&lookup_.request));
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

 private:
  Lookup& lookup_;
};

}  // namespace

Task<std::vector<IpAddress>> look_up_name(loop::Loop& loop, std::string host, int64_t limit_ms,
                                          std::shared_ptr<void> kept) {
  std::shared_ptr<Lookup> lookup = std::make_shared<Lookup>();
  lookup->request.data = lookup.get();
  lookup->while_it_runs = lookup;
  lookup->kept = std::move(kept);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  int failed = uv_getaddrinfo(loop.raw(), &lookup->request, finish, host.c_str(), nullptr, &hints);
  if (failed != 0) {
    lookup->while_it_runs.reset();
    co_return std::vector<IpAddress>();
  }
  Asker asker(*lookup);
  bool in_time = co_await lookup->answered.wait_for(loop, limit_ms);
  if (!in_time) co_return std::vector<IpAddress>();
  co_return lookup->addresses;
}

}  // namespace hostler::net
