// GET /v1/openapi.json: the published contract, as the program was built with it.
#include <gtest/gtest.h>

#include "openapi_json.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

TEST(OpenApi, IsServedToAnybodyAsItWasBuilt) {
  Answer answer = stack().client().get("/v1/openapi.json");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.body, openapi_json);
}

TEST(OpenApi, NamesItsFormAndItselfAndNoHelpOfItsSource) {
  Json document = stack().client().get("/v1/openapi.json").json();
  EXPECT_EQ(document.text_or("openapi"), "3.1.0");
  ASSERT_NE(document.find("paths"), nullptr);
  EXPECT_NE(document.find("paths")->find("/v1/openapi.json"), nullptr);
  EXPECT_EQ(document.find("x-shapes"), nullptr);
}

TEST(OpenApi, MayBeAskedForItsHeadOnly) {
  Answer answer = stack().client().send({"HEAD", "/v1/openapi.json", "", "", {}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.empty());
}

}  // namespace
}  // namespace hostler::testing_support
