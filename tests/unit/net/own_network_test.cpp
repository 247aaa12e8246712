// Tests what keeps tenants from this host's own public addresses, in a network that has one: the
// client that dials, the check of what page readers are sent to, and the check of what tenants
// store.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "fcgi/http/address_check.h"
#include "lib/http/client.h"
#include "runner/tools/target_check.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;

// A network of this process alone, in which 8.8.8.8 is its own and the rest of 8/8 is somewhere.
bool enter_own_network() {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq loopback{};
  std::memcpy(loopback.ifr_name, "lo", sizeof "lo");
  loopback.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  ifreq own{};
  std::memcpy(own.ifr_name, "lo:1", sizeof "lo:1");
  auto* address = reinterpret_cast<sockaddr_in*>(&own.ifr_addr);
  address->sin_family = AF_INET;
  inet_pton(AF_INET, "8.8.8.8", &address->sin_addr);
  bool is_set = ioctl(fd, SIOCSIFFLAGS, &loopback) == 0 && ioctl(fd, SIOCSIFADDR, &own) == 0;
  close(fd);
  return is_set;
}

bool may_enter_own_network() {
  pid_t child = fork();
  if (child == 0) _exit(enter_own_network() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

// The one of the three that refuses the address.
std::string refused_by(const std::string& url, const std::vector<std::string>& allow_cidrs) {
  loop::Loop loop;
  net::CidrList allowed = net::CidrList::parse(allow_cidrs).value();
  std::string refusers;

  http::HttpClient client(loop);
  client.allow_cidrs(allowed);
  http::HttpRequest request;
  request.url = url;
  request.guarded = true;
  request.connect_timeout_ms = 100;
  http::HttpAnswer answer = run_task(loop, client.fetch(std::move(request)));
  if (answer.failure && answer.failure->kind == http::HttpFailureKind::denied_address) {
    refusers += "client ";
  }
  if (!run_task(loop, runner::check_target(loop, url, allowed, 100))) refusers += "reader ";

  config::Settings settings;
  settings.set(config::find_setting("outbound.allow_cidrs"), allow_cidrs,
               config::SettingSource::file);
  std::optional<http::HttpUrl> parsed = http::parse_http_url(url);
  if (run_task(loop, is_denied_to_tenants(loop, settings, *parsed))) refusers += "store ";
  return refusers;
}

struct OwnCase {
  const char* url;
  bool is_allowed;
  const char* refused_by;
};

constexpr OwnCase own_cases[] = {
    {"http://8.8.8.8:3000/", false, "client reader store "},
    {"http://8.8.8.8:8443/", false, "client reader store "},
    {"http://[::ffff:8.8.8.8]:3000/", false, "client reader store "},
    {"http://8.8.8.8:5432/", false, "client reader store "},
    {"http://8.8.8.8/", false, ""},
    {"https://8.8.8.8/", false, ""},
    {"http://8.8.8.8:3000/", true, ""},
    {"http://8.8.4.4:3000/", false, ""},
};

[[noreturn]] void check_in_own_network() {
  bool is_well = enter_own_network();
  for (const OwnCase& each : own_cases) {
    std::string found = refused_by(each.url, each.is_allowed ? std::vector<std::string>{"8.8.8.8"}
                                                             : std::vector<std::string>());
    if (found == each.refused_by) continue;
    is_well = false;
    std::fprintf(stderr, "%s is refused by: %s\n", each.url, found.c_str());
  }
  std::exit(is_well ? 0 : 1);
}

TEST(OwnNetwork, IsRefusedByAllThatTenantsMakeUsCall) {
  if (!may_enter_own_network()) GTEST_SKIP() << "SKIPPED: no network of its own here";
  // The threads of other tests' look-ups stay behind in a fork.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(check_in_own_network(), testing::ExitedWithCode(0), "");
  GTEST_FLAG_SET(death_test_style, "fast");
}

}  // namespace
}  // namespace hostler
