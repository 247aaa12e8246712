// Arguments that a human edited, checked by the schema of their tool.
#include "fcgi/api/runs/edited_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hostler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* city_and_days = R"({"type":"object","required":["city"],"properties":{
    "city":{"type":"string"},"days":{"type":"integer","minimum":1}}})";

TEST(EditedArguments, FitTheirTool) {
  EXPECT_THAT(edited_arguments_faults(city_and_days, R"({"city":"Rome","days":2})"), IsEmpty());
}

TEST(EditedArguments, TellEveryFaultAndItsPlace) {
  EXPECT_THAT(edited_arguments_faults(city_and_days, R"({"city":7,"days":0})"),
              ElementsAre(StartsWith("arguments/city: "), StartsWith("arguments/days: ")));
  EXPECT_THAT(edited_arguments_faults(city_and_days, "{}"), ElementsAre(StartsWith("arguments: ")));
}

// A remote tool's schema is as its server wrote it.
TEST(EditedArguments, AreNotCheckedByASchemaThatNobodyCanRead) {
  for (const char* schema : {"", "{", "7", R"({"type":"object","unevaluatedProperties":false})"}) {
    EXPECT_THAT(edited_arguments_faults(schema, R"({"city":7})"), IsEmpty()) << schema;
  }
}

TEST(EditedArguments, AreCheckedByWhatIsKnownOfASchema) {
  constexpr const char* schema =
      R"({"unevaluatedProperties":false,"properties":{"city":{"type":"string"}}})";
  EXPECT_THAT(edited_arguments_faults(schema, R"({"city":7})"),
              ElementsAre(StartsWith("arguments/city: ")));
}

}  // namespace
}  // namespace hostler
