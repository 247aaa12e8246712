// TOTP codes beside RFC 6238 and oathtool, and recovery codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "lib/account/second_factor.h"
#include "lib/crypto.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::account {
namespace {

// RFC 6238, appendix B: of its eight digits the last six.
TEST(Totp, MakesTheCodesOfTheRfc) {
  const std::string secret = "12345678901234567890";
  const std::pair<int64_t, const char*> codes[] = {{59, "287082"},         {1111111109, "081804"},
                                                   {1111111111, "050471"}, {1234567890, "005924"},
                                                   {2000000000, "279037"}, {20000000000, "353130"}};
  for (const auto& [seconds, code] : codes) {
    EXPECT_EQ(totp_code(secret, seconds / totp_step_seconds), code) << seconds;
  }
}

TEST(Totp, AgreesWithOathtoolOnTenThousandCodes) {
  std::string secret = new_totp_secret();
  constexpr int64_t begin_step = 58'000'000;
  testing_support::ProgramRun run = testing_support::run_program(
      {"oathtool", "--totp", "--base32", "--window=9999", "--now=@1740000000", to_base32(secret)});
  ASSERT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  int64_t step = begin_step;
  for (std::string code; std::getline(lines, code); ++step) {
    ASSERT_EQ(totp_code(secret, step), code) << step;
  }
  EXPECT_EQ(step, begin_step + 10'000);
}

TEST(Totp, TakesTheStepBeforeAndTheStepAfter) {
  std::string secret = new_totp_secret();
  constexpr int64_t clock = 1'740'000'017;
  constexpr int64_t now = clock / totp_step_seconds;
  for (int64_t step : {now - 1, now, now + 1}) {
    std::vector<int64_t> steps = totp_steps(secret, totp_code(secret, step), clock);
    EXPECT_NE(std::find(steps.begin(), steps.end(), step), steps.end()) << step - now;
  }
  for (int64_t step : {now - 2, now + 2}) {
    std::vector<int64_t> steps = totp_steps(secret, totp_code(secret, step), clock);
    EXPECT_EQ(std::find(steps.begin(), steps.end(), step), steps.end()) << step - now;
  }
  EXPECT_TRUE(totp_steps(secret, "", clock).empty());
}

TEST(Totp, IsReadByAppsFromAnAddress) {
  EXPECT_EQ(otpauth_url("12345678901234567890", "ada+x@example.org"),
            "otpauth://totp/Hostler:ada%2Bx%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
            "&issuer=Hostler&algorithm=SHA1&digits=6&period=30");
}

TEST(RecoveryCodes, AreTenThatDifferAndAreReadAsTheyAreTyped) {
  RecoveryCodes codes = new_recovery_codes();
  ASSERT_EQ(codes.texts.size(), 10u);
  EXPECT_EQ(std::set<std::string>(codes.texts.begin(), codes.texts.end()).size(), 10u);
  EXPECT_EQ(codes.hashes.size(), 320u);
  const std::string& code = codes.texts[1];
  EXPECT_EQ(code.size(), 19u) << code;
  EXPECT_EQ(recovery_code_hash(code), codes.hashes.substr(32, 32));
  std::string typed = " ";
  for (char c : code) typed += c == '-' ? ' ' : static_cast<char>(std::toupper(c));
  EXPECT_EQ(recovery_code_hash(typed), codes.hashes.substr(32, 32));
  EXPECT_NE(recovery_code_hash(code.substr(1)), codes.hashes.substr(32, 32));
}

}  // namespace
}  // namespace hostler::account
