// Sealed secrets as JSON of the database has them: lib/config/stored_secret.h. What rows hold is
// tried by whatever opens one (tests/sql).
#include "lib/config/stored_secret.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler::config {
namespace {

SecretBox box() { return std::get<SecretBox>(SecretBox::parse(std::string(32, 'k'))); }

TEST(StoredSecret, OpensAsItWasWritten) {
  SecretBox secrets = box();
  SecretIdentity identity{"01a1fa43-8dcd-7506-ab81-ef7a33b2be1a", "", "tool"};
  SealedSecret sealed = secrets.seal(identity, "whsec_abc");
  std::string json =
      fmt::format(R"({{"key_version": {}, "wrapped_key": "{}", "sealed": "{}"}})",
                  sealed.key_version, to_hex(sealed.wrapped_key), to_hex(sealed.sealed));
  std::optional<Json> stored = parse_json_or_nothing(json);
  ASSERT_TRUE(stored);
  EXPECT_EQ(secrets.open(identity, stored_secret(*stored)), "whsec_abc");
}

TEST(StoredSecret, OpensNothingWhereItIsNotWhole) {
  SecretBox secrets = box();
  for (const char* json :
       {"{}", R"({"key_version": 1})", R"({"key_version": 1, "wrapped_key": "zz", "sealed": "0"})",
        R"({"key_version": "1"})"}) {
    std::optional<Json> stored = parse_json_or_nothing(json);
    ASSERT_TRUE(stored) << json;
    EXPECT_FALSE(secrets.open({"id", "", "tool"}, stored_secret(*stored))) << json;
  }
}

}  // namespace
}  // namespace hostler::config
