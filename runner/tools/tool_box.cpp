// See runner/tools/tool_box.h.
#include "runner/tools/tool_box.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "lib/json.h"
#include "lib/tool_names.h"
#include "runner/tools/arguments.h"
#include "runner/tools/web_fetch.h"
#include "runner/tools/web_search.h"

namespace hostler::runner {
namespace {

struct ToolRow {
  std::string_view name;
  std::string_view description;
  std::string_view parameters;  // JSON Schema, valid for OpenAI and Anthropic
  // Returns the fault of the arguments, or an empty text.
  std::string (*fault)(const Json& arguments);
  // Null: a human answers.
  Task<ToolOutcome> (*call)(ToolServices& services, ToolContext context, Json arguments);
};

std::string question_fault(const Json& arguments) {
  constexpr size_t question_chars_max = 10'000;
  std::string fault;
  read_text(arguments, "message", question_chars_max, fault);
  return fault;
}

// THE TABLE OF TOOLS.
constexpr std::array tools{
    ToolRow{"web_search",
            "Search the web. Returns a list of pages with title, url and a piece of their content.",
            R"json({"type":"object","properties":{"query":{"type":"string",)json"
            R"json("description":"What to search for."},"max_results":{"type":"integer",)json"
            R"json("description":"How many results, 1 to 20; 5 when absent."}},)json"
            R"json("required":["query"]})json",
            web_search_fault, web_search},
    ToolRow{"web_fetch",
            "Read a web page as text. Returns its url, title and content, and whether the content "
            "was cut.",
            R"json({"type":"object","properties":{"url":{"type":"string",)json"
            R"json("description":"The page's address, http or https."},"max_chars":{)json"
            R"json("type":"integer","description":"How many characters of content at most, )json"
            R"json(up to 200000; 20000 when absent."}},"required":["url"]})json",
            web_fetch_fault, web_fetch},
    ToolRow{"ask_user", "Ask the user a question and wait for the answer.",
            R"json({"type":"object","properties":{"message":{"type":"string",)json"
            R"json("description":"The question."}},"required":["message"]})json",
            question_fault, nullptr},
};

// libuv gives names half of its threads (UV_THREADPOOL_SIZE, runner/main.cpp): some are left to
// others, whatever names hang.
constexpr loop::PermitShares look_up_shares{24, 4};

// Answers are up to 5 MiB each, and are read on the thread pool; of all 21 organizations that one
// user may own, far from all.
constexpr loop::PermitShares call_shares{512, 16};

// Streams on which servers wait for persons: a connection each, for ten minutes at most. Apart, so
// that nobody's other calls wait for a person.
constexpr loop::PermitShares held_shares{512, 64};

// Schemas and arguments that tenants wrote may each keep a thread busy for a second.
constexpr loop::PermitShares check_shares{8, 2};

constexpr bool has_every_tool() {
  if (tools.size() != tool_names.size()) return false;
  for (size_t i = 0; i < tools.size(); ++i) {
    if (tools[i].name != tool_names[i]) return false;
  }
  return true;
}
static_assert(has_every_tool(), "lib/tool_names.h and the table hold the same tools");

const ToolRow* find_tool(std::string_view name) {
  for (const ToolRow& row : tools) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

ToolBox::ToolBox(loop::Loop& loop, postgres::Database& db, http::HttpClient& http,
                 const config::SecretBox& secrets, const config::LiveSettings& settings)
    : permits_(loop, call_shares),
      held_permits_(loop, held_shares),
      look_ups_(loop, look_up_shares),
      checks_(loop, check_shares),
      services_{loop, db, http, secrets, settings, permits_, held_permits_, look_ups_},
      groups_(services_),
      held_(OAuthServices{loop, db, http, secrets, settings}) {}

std::vector<ToolDefinition> ToolBox::definitions(const std::vector<std::string>& names) const {
  std::vector<ToolDefinition> found;
  for (const std::string& name : names) {
    const ToolRow* row = find_tool(name);
    if (row == nullptr) continue;
    ToolDefinition definition;
    definition.name = row->name;
    definition.description = row->description;
    definition.parameters = row->parameters;
    found.push_back(std::move(definition));
  }
  return found;
}

bool ToolBox::is_question(const std::string& name) const {
  const ToolRow* row = find_tool(name);
  return row != nullptr && row->call == nullptr;
}

std::optional<ToolOutcome> ToolBox::refuse(const ToolCall& call,
                                           const std::vector<std::string>& allowed) const {
  bool is_allowed = std::find(allowed.begin(), allowed.end(), call.name) != allowed.end();
  const ToolRow* row = find_tool(call.name);
  if (!is_allowed || row == nullptr) {
    return tool_failed("tool.unknown", "The tool does not exist.");
  }
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  if (!arguments || !arguments->is_object()) {
    return tool_failed("tool.args_invalid", "The arguments must be a JSON object.");
  }
  std::string fault = row->fault(*arguments);
  if (!fault.empty()) return tool_failed("tool.args_invalid", std::move(fault));
  return std::nullopt;
}

Task<ToolOutcome> ToolBox::call(ToolContext context, ToolCall call) {
  const ToolRow* row = find_tool(call.name);
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  assert(row != nullptr && row->call != nullptr && arguments);
  Task<ToolOutcome> work = row->call(services_, std::move(context), std::move(*arguments));
  ToolOutcome outcome = co_await work;
  co_return outcome;
}

Task<std::optional<ToolOutcome>> ToolBox::call_webhook(ToolContext context, WebhookCall call) {
  Task<std::optional<ToolOutcome>> work =
      call_webhook_tool(services_, std::move(context), std::move(call));
  std::optional<ToolOutcome> outcome = co_await work;
  co_return outcome;
}

Task<McpOutcome> ToolBox::call_remote_tool(ToolContext context, McpCall call) {
  Task<McpOutcome> work = call_mcp_tool(services_, held_, std::move(context), std::move(call));
  McpOutcome outcome = co_await work;
  co_return outcome;
}

}  // namespace hostler::runner
