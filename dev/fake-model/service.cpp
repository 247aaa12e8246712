// The routes of service.h.
#include "dev/fake-model/service.h"

#include <utility>

#include "dev/fake-model/pages.h"
#include "dev/fake-model/player.h"
#include "dev/fake-model/tool_backends.h"

namespace hostler::fake_model {
namespace {

void refuse(Exchange& exchange, const WireForm& form, const Refusal& refusal) {
  AnswerHead head{refusal.status, refusal.content_type, {}};
  if (refusal.retry_after_s > 0) {
    head.fields.push_back({"retry-after", std::to_string(refusal.retry_after_s)});
  }
  if (!refusal.location.empty()) head.fields.push_back({"location", refusal.location});
  exchange.answer(head, refusal.body ? *refusal.body : form.error_document(refusal));
}

void answer_text(Exchange& exchange, int status, std::string_view text) {
  exchange.answer({status, "text/plain; charset=utf-8", {}}, text);
}

}  // namespace

Service::Service(loop::Loop& loop, ServiceOptions options)
    : options_(std::move(options)),
      wheel_(loop, options_.tick_ms),
      cache_([&loop] { return loop.now_ms(); }),
      openai_(make_openai_form()),
      anthropic_(make_anthropic_form()) {}

ServerHooks Service::hooks() {
  ServerHooks hooks;
  hooks.answer = [this](Exchange& exchange, const HttpRequest& request) {
    return answer(exchange, request);
  };
  hooks.on_request = [this](uint64_t number, const HttpRequest& request) {
    ledger_.begin(number, request);
  };
  hooks.on_stream = [this](uint64_t number) { ledger_.stream(number); };
  hooks.on_end = [this](uint64_t number, int status, Outcome outcome) {
    ledger_.end(number, status, outcome);
  };
  return hooks;
}

std::unique_ptr<Work> Service::answer(Exchange& exchange, const HttpRequest& request) {
  std::string_view path = request.path;
  if (path == "/_requests") {
    answer_ledger(exchange, request);
    return nullptr;
  }
  if (path.ends_with("/chat/completions")) return answer_chat(exchange, request, *openai_);
  if (path.ends_with("/v1/messages")) return answer_chat(exchange, request, *anthropic_);
  if (is_tool_path(path)) return answer_tool(wheel_, exchange, request);
  if (path == "/pages" || path.starts_with("/pages/")) {
    return answer_page(wheel_, exchange, request);
  }
  answer_text(exchange, 404, "no such path; fake-model --help tells the paths\n");
  return nullptr;
}

std::unique_ptr<Work> Service::answer_chat(Exchange& exchange, const HttpRequest& request,
                                           const WireForm& form) {
  if (request.method != "POST") {
    exchange.answer({405, "text/plain", {{"allow", "POST"}}}, "POST only\n");
    return nullptr;
  }
  if (!options_.required_key.empty()) {
    if (std::optional<Refusal> refusal = form.refuse_key(request, options_.required_key)) {
      refuse(exchange, form, *refusal);
      return nullptr;
    }
  }
  std::variant<Json, JsonFault> body = parse_json(request.body);
  if (const JsonFault* fault = std::get_if<JsonFault>(&body)) {
    Refusal refusal;
    refusal.message = "We could not parse the JSON body of your request: " + fault->message +
                      " at byte " + std::to_string(fault->offset);
    refuse(exchange, form, refusal);
    return nullptr;
  }
  std::variant<ChatRequest, Refusal> read = form.read(std::get<Json>(body));
  if (const Refusal* refusal = std::get_if<Refusal>(&read)) {
    refuse(exchange, form, *refusal);
    return nullptr;
  }
  ChatRequest& chat = std::get<ChatRequest>(read);
  std::variant<Turn, Refusal> plan = planner_.plan(chat, std::get<Json>(body));
  if (const Refusal* refusal = std::get_if<Refusal>(&plan)) {
    refuse(exchange, form, *refusal);
    return nullptr;
  }
  cache_.count(chat);
  std::unique_ptr<AnswerForm> answer = form.answer(chat);
  auto player = std::make_unique<Player>(wheel_, exchange, std::move(chat), std::move(answer),
                                         std::get<Turn>(std::move(plan)), options_.word_delay_ms);
  player->start();
  return player;
}

void Service::answer_ledger(Exchange& exchange, const HttpRequest& request) {
  if (request.method == "GET") {
    exchange.answer({200, "application/json", {}}, ledger_.dump());
  } else if (request.method == "DELETE") {
    ledger_.reset();
    planner_.reset();
    cache_.reset();
    exchange.answer({200, "application/json", {}}, "{\"ok\":true}");
  } else {
    exchange.answer({405, "text/plain", {{"allow", "GET, DELETE"}}}, "GET or DELETE\n");
  }
}

}  // namespace hostler::fake_model
