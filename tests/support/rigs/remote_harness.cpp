// See tests/support/rigs/remote_harness.h.
#include "tests/support/rigs/remote_harness.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {

OutsidePeer& mcp_server() {
  static OutsidePeer peer("mcp_server.py", {});
  return peer;
}

Json RemoteUser::wait_for_listing(std::string_view state) const {
  Json found;
  EXPECT_TRUE(eventually(20'000, [&] {
    found = server();
    const Json* listing = found.find("listing");
    return listing != nullptr && listing->text_or("state") == state;
  })) << found.dump();
  return found;
}

Json RemoteUser::tool(std::string_view name) const {
  Json tools = user.client.get(at("/tools")).json();
  if (!tools.is_array()) return Json();
  for (const Json& tool : *tools.as_array()) {
    if (tool.text_or("name") == name) return tool;
  }
  return Json();
}

RemoteUser make_remote(const std::string& form, std::string_view further) {
  static int number = 0;
  RemoteUser made{register_user(webhook_stack()), {}, fmt::format("/{}/s{}", form, ++number)};
  Answer server = made.user.client.post(
      "/v1/mcp-servers?scope=org",
      fmt::format(R"({{"key":"shop","url":"{}","authorization":{{"type":"none"}},{}}})",
                  mcp_server().url(made.path), further));
  EXPECT_EQ(server.status, 201) << server.body;
  made.server_id = server.member("id");
  made.wait_for_listing("ok");
  Answer persona = made.user.client.post(
      "/v1/personas?scope=org", R"({"persona_key":"remote","version":"1","tools":["shop__*"]})");
  EXPECT_EQ(persona.status, 201) << persona.body;
  return made;
}

void change_definitions(const RemoteUser& remote, const std::string& description) {
  std::string name = remote.path.substr(remote.path.rfind('/') + 1);
  ProgramRun run =
      run_program({"/usr/bin/curl", "-sS", "--cacert", OutsidePeer::ca_file(), "--data-binary",
                   description, mcp_server().url("/definition/" + name)});
  EXPECT_EQ(run.status, 0) << run.out;
}

std::vector<Json> sent_to(const std::string& path, std::string_view rpc) {
  std::vector<Json> ours;
  for (Json& record : mcp_server().records()) {
    bool is_ours = record.text_or("path") == path;
    if (is_ours && (rpc.empty() || record.text_or("rpc") == rpc)) ours.push_back(std::move(record));
  }
  return ours;
}

}  // namespace hostler::testing_support
