// See lib/loop/name_lookup.h.
#include "lib/loop/name_lookup.h"

#include <netdb.h>
#include <uv.h>

#include <coroutine>
#include <memory>

#include "lib/loop/wait.h"

namespace hostler {
namespace {

// A look-up cannot be stopped: what it touches lives until its callback ran.
struct Lookup {
  uv_getaddrinfo_t request;
  std::vector<IpAddress> addresses;
  std::coroutine_handle<> caller;         // null once nobody waits
  std::shared_ptr<Lookup> while_it_runs;  // keeps itself
  bool is_done = false;
};

class LookupAwaiter {
 public:
  explicit LookupAwaiter(std::shared_ptr<Lookup> lookup) : lookup_(std::move(lookup)) {}
  ~LookupAwaiter() { lookup_->caller = nullptr; }
  LookupAwaiter(const LookupAwaiter&) = delete;
  LookupAwaiter& operator=(const LookupAwaiter&) = delete;
  bool await_ready() const noexcept { return lookup_->is_done; }
  void await_suspend(std::coroutine_handle<> caller) { lookup_->caller = caller; }
  void await_resume() const noexcept {}

 private:
  std::shared_ptr<Lookup> lookup_;
};

void finish(uv_getaddrinfo_t* request, int status, addrinfo* found) {
  std::shared_ptr<Lookup> lookup = std::move(static_cast<Lookup*>(request->data)->while_it_runs);
  for (addrinfo* each = status == 0 ? found : nullptr; each != nullptr; each = each->ai_next) {
    std::optional<IpAddress> address = IpAddress::from_socket(each->ai_addr);
    if (address) lookup->addresses.push_back(*address);
  }
  uv_freeaddrinfo(found);
  lookup->is_done = true;
  if (lookup->caller) lookup->caller.resume();
}

Task<bool> answered(std::shared_ptr<Lookup> lookup) {
  LookupAwaiter awaiter(lookup);
  co_await awaiter;
  co_return true;
}

}  // namespace

Task<std::vector<IpAddress>> look_up_name(Loop& loop, std::string host, int64_t limit_ms) {
  std::shared_ptr<Lookup> lookup = std::make_shared<Lookup>();
  lookup->request.data = lookup.get();
  lookup->while_it_runs = lookup;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  int failed = uv_getaddrinfo(loop.raw(), &lookup->request, finish, host.c_str(), nullptr, &hints);
  if (failed != 0) {
    lookup->while_it_runs.reset();
    co_return std::vector<IpAddress>();
  }
  Task<bool> answer = answered(lookup);
  std::optional<bool> in_time = co_await with_timeout(loop, std::move(answer), limit_ms);
  if (!in_time) co_return std::vector<IpAddress>();
  co_return lookup->addresses;
}

}  // namespace hostler
