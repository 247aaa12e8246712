// Tests what becomes of SCIM users in bodies and by PATCH, in the forms that Entra ID, Okta and the
// examples of RFC 7644 have.
#include "fcgi/api/scim/user_document.h"

#include <gtest/gtest.h>

#include "fcgi/api/scim/group_steps.h"
#include "lib/error.h"

namespace hostler::scim {
namespace {

Json json(std::string_view text) {
  std::optional<Json> read = parse_json_or_nothing(text);
  EXPECT_TRUE(read.has_value()) << text;
  return read.value_or(Json());
}

std::string read(std::string_view body) { return Json(read_user(json(body))).dump(); }

// The document after Operations, written without the frame of the body.
std::string patched(std::string_view document, const std::string& operations) {
  Json::Object changed = *json(document).as_object();
  patch_user(changed, json(R"({"Operations":[)" + operations + "]}"));
  return Json(std::move(changed)).dump();
}

template <class Call>
ErrorCode code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code;
  }
  return ErrorCode::count_;
}

ErrorCode patch_code(const std::string& operations) {
  return code_of([&] { patched(R"({"userName":"a"})", operations); });
}

TEST(ScimUserDocument, KeepsWhatUsersHaveAndNothingElse) {
  EXPECT_EQ(read(R"({"schemas":["x"],"id":"1","USERNAME":"ada","active":"True","password":"p",)"
                 R"("unknown":{"a":[1]},"meta":{},"groups":[],"title":null,"nickName":"",)"
                 R"("urn:other:User":{"a":1},"urn:hostler:scim:pending":true})"),
            R"({"userName":"ada","active":true})");
  EXPECT_EQ(read(R"({"name":{"givenName":"Ada","x":1},"emails":[{"value":"a@b.example",)"
                 R"("type":"work","primary":"true"},{"value":"c@b.example","primary":true}],)"
                 R"("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":)"
                 R"({"department":"Engines","manager":"26118915"}})"),
            R"({"name":{"givenName":"Ada"},"emails":[{"value":"a@b.example","type":"work",)"
            R"("primary":false},{"value":"c@b.example","primary":true}],)"
            R"("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":)"
            R"({"department":"Engines","manager":{"value":"26118915"}}})");
}

TEST(ScimUserDocument, RefusesValuesOfOtherKinds) {
  for (const char* body :
       {R"({"userName":1})", R"({"active":"yes"})", R"({"active":1})", R"({"name":"Ada"})",
        R"({"name":[]})", R"({"emails":[1]})", R"({"emails":[{"value":{}}]})",
        R"({"userName":"a\u0007"})", R"({"emails":[{"primary":"x"}]})"}) {
    bool is_empty_list = std::string_view(body) == R"({"name":[]})";  // unassigns
    EXPECT_EQ(code_of([&] { read(body); }),
              is_empty_list ? ErrorCode::count_ : ErrorCode::scim_invalid_value)
        << body;
  }
  EXPECT_EQ(code_of([] { read(R"({"title":")" + std::string(1025, 'a') + "\"}"); }),
            ErrorCode::scim_invalid_value);
}

TEST(ScimUserDocument, IsPatchedAsEntraIdDoes) {
  constexpr const char* work = R"({"userName":"a","emails":[{"value":"a@b","type":"work"}]})";
  EXPECT_EQ(patched(R"({"userName":"a","active":true})",
                    R"({"op":"Replace","path":"active","value":"False"})"),
            R"({"userName":"a","active":false})");
  EXPECT_EQ(
      patched(
          work,
          R"({"op":"Replace","path":"emails[type eq \"work\"].value","value":"new@b.example"})"),
      R"({"userName":"a","emails":[{"value":"new@b.example","type":"work"}]})");
  EXPECT_EQ(
      patched(R"({"userName":"a"})",
              R"({"op":"Add","path":"emails[type eq \"work\"].value","value":"x@b.example"})"),
      R"({"userName":"a","emails":[{"type":"work","value":"x@b.example"}]})");
  EXPECT_EQ(
      patched(R"({"userName":"a"})",
              R"({"op":"Add","value":{"name.givenName":"Ada","displayName":"Ada L",)"
              R"("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department":"E"}})"),
      R"({"userName":"a","name":{"givenName":"Ada"},"displayName":"Ada L",)"
      R"("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"E"}})");
  EXPECT_EQ(patched(work, R"({"op":"Remove","path":"emails[type eq \"work\"]"})"),
            R"({"userName":"a"})");
}

TEST(ScimUserDocument, IsPatchedAsOktaDoes) {
  EXPECT_EQ(
      patched(R"({"userName":"a","active":true})", R"({"op":"replace","value":{"active":false}})"),
      R"({"userName":"a","active":false})");
}

TEST(ScimUserDocument, IsPatchedAsTheRfcShows) {
  EXPECT_EQ(patched(R"({"userName":"a"})",
                    R"({"op":"add","value":{"emails":[{"value":"babs@j.example","type":"home"}],)"
                    R"("nickname":"Babs"}})"),
            R"({"userName":"a","emails":[{"value":"babs@j.example","type":"home"}],)"
            R"("nickName":"Babs"})");
  constexpr const char* addresses =
      R"({"addresses":[{"type":"work","locality":"X"},{"type":"home","locality":"Y"}]})";
  EXPECT_EQ(patched(addresses, R"({"op":"replace","path":"addresses[type eq \"work\"]",)"
                               R"("value":{"locality":"Z","postalCode":"1"}})"),
            R"({"addresses":[{"type":"work","locality":"Z","postalCode":"1"},)"
            R"({"type":"home","locality":"Y"}]})");
  EXPECT_EQ(patched(addresses, R"({"op":"remove","path":"addresses"})"), "{}");
  EXPECT_EQ(patched(R"({"title":"x"})", R"({"op":"replace","path":"title","value":null})"), "{}");
  // Adding what is there changes nothing.
  constexpr const char* one = R"({"emails":[{"value":"a@b"}]})";
  EXPECT_EQ(patched(one, R"({"op":"add","path":"emails","value":[{"value":"a@b"}]})"), one);
  EXPECT_EQ(patched(one, R"({"op":"replace","path":"emails","value":[{"value":"c@b"}]})"),
            R"({"emails":[{"value":"c@b"}]})");
}

TEST(ScimUserDocument, RefusesOperationsThatMeanNothing) {
  EXPECT_EQ(patch_code(R"({"op":"move","path":"title","value":"x"})"),
            ErrorCode::scim_invalid_value);
  EXPECT_EQ(patch_code(R"({"op":"remove"})"), ErrorCode::scim_no_target);
  EXPECT_EQ(patch_code(R"({"op":"add","path":"title"})"), ErrorCode::scim_invalid_value);
  EXPECT_EQ(patch_code(R"({"op":"add","value":"x"})"), ErrorCode::scim_invalid_value);
  for (const char* path :
       {"unknown", "name.unknown", "title.x", "name[x eq 1]", "emails[x eq 1]"}) {
    EXPECT_EQ(patch_code(std::string(R"({"op":"add","path":")") + path + R"(","value":"x"})"),
              ErrorCode::scim_invalid_path)
        << path;
  }
  EXPECT_EQ(patch_code(R"({"op":"replace","path":"id","value":"x"})"), ErrorCode::count_)
      << "what only the service sets is passed over";
  EXPECT_EQ(code_of([] {
              Json::Object document;
              patch_user(document, json("{}"));
            }),
            ErrorCode::scim_invalid_value);
}

constexpr const char* ada = "019ac3a2-0000-7000-8000-00000000000a";

TEST(ScimGroupSteps, ReadGroupsAndTheirPatches) {
  std::string id(ada);
  EXPECT_EQ(steps_of_group(json(R"({"displayName":"E","members":[{"value":")" + id + R"("}]})")),
            R"([{"do":"name","value":"E"},{"do":"external","value":null},{"do":"set","ids":[")" +
                id + "\"]}]");
  auto patch = [](const std::string& operations) {
    return steps_of_patch(json(R"({"Operations":[)" + operations + "]}"));
  };
  EXPECT_EQ(
      patch(R"({"op":"Add","path":"members","value":[{"$ref":null,"value":")" + id + R"("}]})"),
      R"([{"do":"add","ids":[")" + id + "\"]}]");
  EXPECT_EQ(patch(R"({"op":"remove","path":"members[value eq \")" + id + R"(\"]"})"),
            R"([{"do":"remove","ids":[")" + id + "\"]}]");
  EXPECT_EQ(patch(R"({"op":"Remove","path":"members","value":[{"value":")" + id + R"("}]})"),
            R"([{"do":"remove","ids":[")" + id + "\"]}]");
  EXPECT_EQ(patch(R"({"op":"remove","path":"members"})"), R"([{"do":"set","ids":[]}])");
  EXPECT_EQ(patch(R"({"op":"replace","value":{"id":"x","displayName":"F"}})"),
            R"([{"do":"name","value":"F"}])");
  EXPECT_EQ(patch(R"({"op":"replace","path":"members","value":[]})"), R"([{"do":"set","ids":[]}])");
  EXPECT_EQ(code_of([&] { patch(R"({"op":"add","path":"members","value":[{"value":"x"}]})"); }),
            ErrorCode::scim_invalid_value);
  EXPECT_EQ(code_of([&] { patch(R"({"op":"add","path":"owner","value":"x"})"); }),
            ErrorCode::scim_invalid_path);
  EXPECT_EQ(code_of([] { steps_of_group(json("{}")); }), ErrorCode::scim_invalid_value);
}

}  // namespace
}  // namespace hostler::scim
