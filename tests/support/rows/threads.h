// Threads, messages, models and runs for tests of the API, made the way clients make them. Ends of
// runs, which only a daemon writes, are written as it writes them.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

std::string make_thread(const Client& client, std::string_view body = "{}");
std::string post_message(const Client& client, const std::string& thread_id,
                         std::string_view content = "hello");

struct TestModel {
  std::string provider_id;
  std::string model_id;  // the route_id
};
// The default model of the user's personal organization, at an address that nobody dials.
TestModel make_model(const TestUser& user, std::string_view name = "small");

// A user with a model, a thread of theirs and a message in it.
struct TestConversation {
  TestUser user;
  TestModel model;
  std::string thread_id;
};
TestConversation make_conversation(ApiStack& stack);

std::string runs_of(const std::string& thread_id);  // /v1/threads/{thread_id}/runs
std::string start_run(const Client& client, const std::string& thread_id,
                      const std::string& body = "{}");
// Acts as a daemon ends a run: state, last event, answer.
void end_run(ApiStack& stack, const std::string& run_id, std::string_view status,
             std::string_view answer = "");
// Sets the state after a daemon has taken it.
void claim_run(ApiStack& stack, const std::string& run_id);

}  // namespace hostler::testing_support
