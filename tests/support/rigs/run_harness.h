// Whole runs for tests of the API: a stack with a runner, the fake model as the platform's
// default, and what a run did, as its stream tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

// The fake model as the platform's default model, at the stack's model_url() or where its address
// is handed on; price: members of the model, such as "output_usd_per_mtok":20. Without one it is
// free.
void add_fake_model(ApiStack& stack, std::string_view price = "", const std::string& url = "");
// Started at the first call: nothing is configured for tools but what tests configure for their own
// organizations.
ApiStack& runner_stack();

// A new thread with this message, and a run of it; its id.
std::string start_output(const Client& client, std::string_view message,
                         std::string_view run_body = "{}");
// Asks until the run is in this state or has ended, 15 s at most; the state it is in then.
std::string wait_for_status(const Client& client, const std::string& run_id,
                            std::string_view status);
// Every event so far.
std::vector<Json> events_of(const Client& client, const std::string& run_id);

// Story of a run.
struct RunStory {
  std::string run_id;
  std::string status;
  std::vector<Json> events;

  // The data of the events of this type, in order.
  std::vector<Json> all(std::string_view type) const;
  // The only one; a failure of the test when there are more or none.
  Json only(std::string_view type) const;
  // Outcome of each tool.result: its error's code, or "ok".
  std::vector<std::string> outcomes() const;
  // The only tool.result's result, as JSON text; its error's code when it failed.
  std::string result() const;
  std::string text() const;  // of all events, as JSON
};
RunStory story_of(const Client& client, const std::string& run_id);
// Says it, waits for the end, and tells.
RunStory run_story(const Client& client, std::string_view message,
                   std::string_view run_body = "{}");

// A persona of the user's organization with these tools, those of the second list to be confirmed;
// its persona_id.
std::string make_persona(const TestUser& user, std::string_view tools,
                         std::string_view confirm_tools = "");

}  // namespace hostler::testing_support
