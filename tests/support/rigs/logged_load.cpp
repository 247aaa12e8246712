// See tests/support/rigs/logged_load.h.
#include "tests/support/rigs/logged_load.h"

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/eventually.h"

namespace hostler::testing_support {

std::string comes_to(postgres::DbSession& session, const std::string& question,
                     const std::string& wanted) {
  std::string stated;
  EXPECT_TRUE(eventually(60'000, [&] {
    stated = session.run_text(question).text();
    return stated == wanted;
  }));
  return stated;
}

LoggedLoad::LoggedLoad(const PrivateStack& stack)
    : stack_(stack), mark_(fmt::format("/v1/nothing-{}-", to_hex(random_bytes(6)))) {
  thread_ = std::thread([this] {
    Line line(stack_.env("BASE_URL"), stack_.env("CA_CERT"));
    while (!stops_) {
      if (line.quiet_status(fmt::format("{}{}", mark_, answered_.load())) == 404) ++answered_;
    }
  });
}

LoggedLoad::~LoggedLoad() { end(); }

void LoggedLoad::wait_for_more(int answers) const {
  int before = answered_;
  EXPECT_TRUE(eventually(60'000, [&] { return answered_ >= before + answers; })) << answered_;
}

void LoggedLoad::end() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string LoggedLoad::wanted() const { return fmt::format("{0} {0}", answered_.load()); }

std::string LoggedLoad::rows() {
  postgres::DbSession sql(stack_.env("DATABASE_URL"), "test");
  return comes_to(sql,
                  fmt::format("SELECT count(*) || ' ' || count(DISTINCT path) FROM access_log "
                              "WHERE starts_with(path, '{}')",
                              mark_),
                  wanted());
}

}  // namespace hostler::testing_support
