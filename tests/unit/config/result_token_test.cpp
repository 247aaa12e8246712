// Tokens by which servers of webhook tools answer later: good for one call, with the key that made
// them, and with nothing else.
#include "lib/config/result_token.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler::config {
namespace {

constexpr const char* run = "0190a0a0-0000-7000-8000-000000000000";
constexpr const char* other_run = "0190a0a0-0000-7000-8000-000000000001";
constexpr const char* call = "abc123xyz";

SecretBox box_of(const std::string& lines) { return std::get<SecretBox>(SecretBox::parse(lines)); }

std::string key_line(int version) {
  return fmt::format("{}:{}\n", version,
                     to_base64(std::string(32, static_cast<char>('a' + version))));
}

TEST(ResultToken, IsForOneCallOfOneRun) {
  SecretBox box = box_of(key_line(1));
  std::string header = "Bearer " + make_result_token(box, run, call);
  EXPECT_TRUE(is_result_token(header));
  EXPECT_EQ(call_of_result_token(box, run, header), call);
  EXPECT_EQ(call_of_result_token(box, other_run, header), std::nullopt);
  std::string renamed = header;
  renamed.replace(renamed.find(call), 9, "abc123xyy");
  EXPECT_EQ(call_of_result_token(box, run, renamed), std::nullopt);
}

TEST(ResultToken, StaysGoodUnderANewerKey) {
  std::string header = "bearer " + make_result_token(box_of(key_line(1)), run, call);
  EXPECT_EQ(call_of_result_token(box_of(key_line(1) + key_line(2)), run, header), call);
  EXPECT_EQ(call_of_result_token(box_of(key_line(2)), run, header), std::nullopt);
}

TEST(ResultToken, IsNothingElse) {
  SecretBox box = box_of(key_line(1));
  std::string whole = make_result_token(box, run, call);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(call_of_result_token(box, run, "Bearer " + whole.substr(0, length)), std::nullopt);
  }
  for (const char* header : {"", "Bearer", "Bearer ", "Basic hrt_1_a_b", "Bearer hrt_",
                             "Bearer hrt_x", "Bearer hrt_99999999999999999999_a_b", "Bearer hrt_1",
                             "Bearer hrt_1_", "Bearer hrt_-1_a_b", "hrt_1_a_b"}) {
    EXPECT_EQ(call_of_result_token(box, run, header), std::nullopt) << header;
  }
  EXPECT_FALSE(is_result_token("Bearer hat_abc"));
  EXPECT_EQ(call_of_result_token(box, run, "Bearer " + whole + "x"), std::nullopt);
}

}  // namespace
}  // namespace hostler::config
