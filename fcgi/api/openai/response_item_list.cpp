// Input items shown; see fcgi/api/openai/response_items.h.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/openai/response_items.h"
#include "lib/json.h"

namespace hostler {
namespace {

struct Item {
  std::string id;
  std::string json;
};

// Makes items of messages, numbered in their order.
class ItemWriter {
 public:
  explicit ItemWriter(std::string_view run_id) : run_id_(run_id) {}

  void add(const Json& message) {
    std::string_view role = message.text_or("role");
    std::string_view content = message.text_or("content");
    const Json* calls = message.find("tool_calls");
    if (role == "tool") {
      JsonWriter& json = begin("fco", "function_call_output");
      json.member("call_id", message.text_or("tool_call_id")).member("output", content);
      end();
      return;
    }
    if (calls == nullptr || !content.empty()) add_message(message, role, content);
    if (calls == nullptr || !calls->is_array()) return;
    for (const Json& call : *calls->as_array()) {
      JsonWriter& json = begin("fc", "function_call");
      json.member("call_id", call.text_or("id")).member("name", call.text_or("name"));
      json.member("arguments", call.text_or("arguments"));
      end();
    }
  }

  std::vector<Item> take() { return std::move(items_); }

 private:
  void add_message(const Json& message, std::string_view role, std::string_view content) {
    JsonWriter& json = begin("msg", "message");
    json.member("role", message.find("is_developer") == nullptr ? role : "developer");
    json.key("content").begin_array();
    const Json* parts = message.find("parts");
    if (parts != nullptr && parts->is_array()) {
      for (const Json& part : *parts->as_array()) add_part(part);
    } else if (role == "assistant") {
      json.begin_object().member("type", "output_text").member("text", content);
      json.member_raw("annotations", "[]").end_object();
    } else {
      json.begin_object().member("type", "input_text").member("text", content).end_object();
    }
    json.end_array();
    end();
  }

  void add_part(const Json& part) {
    json_.begin_object();
    if (part.text_or("type") == "image") {
      std::string_view detail = part.text_or("detail");
      json_.member("type", "input_image").member("detail", detail.empty() ? "auto" : detail);
      json_.member("file_id", fmt::format("file-{}", part.text_or("file_id")));
      json_.key("image_url").null();
    } else {
      json_.member("type", "input_text").member("text", part.text_or("text"));
    }
    json_.end_object();
  }

  JsonWriter& begin(std::string_view kind, std::string_view type) {
    id_ = fmt::format("{}_{}_in_{}", kind, run_id_, items_.size());
    json_ = JsonWriter();
    return json_.begin_object()
        .member("id", id_)
        .member("type", type)
        .member("status", "completed");
  }
  void end() { items_.push_back({std::move(id_), json_.end_object().take()}); }

  std::string_view run_id_;
  std::vector<Item> items_;
  std::string id_;
  JsonWriter json_;
};

std::vector<Item> items_of(std::string_view run_id, std::string_view messages) {
  ItemWriter writer(run_id);
  std::optional<Json> parsed = parse_json_or_nothing(messages);
  if (parsed && parsed->is_array()) {
    for (const Json& message : *parsed->as_array()) writer.add(message);
  }
  return writer.take();
}

void write_id(std::string_view name, const Item* item, JsonWriter& json) {
  json.key(name);
  if (item == nullptr) {
    json.null();
  } else {
    json.text(item->id);
  }
}

}  // namespace

std::string response_item_list(std::string_view run_id, std::string_view messages,
                               const InputItemPage& page) {
  std::vector<Item> items = items_of(run_id, messages);
  if (!page.is_ascending) std::reverse(items.begin(), items.end());
  auto from = items.begin();
  if (page.after) {
    from = std::find_if(items.begin(), items.end(),
                        [&](const Item& item) { return item.id == *page.after; });
    if (from == items.end()) {
      throw Error::validation({{"after", "unknown", "is not an item of this response"}});
    }
    ++from;
  }
  auto to = from + std::min<std::ptrdiff_t>(page.limit, items.end() - from);
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (auto item = from; item != to; ++item) json.raw(item->json);
  json.end_array();
  write_id("first_id", from == to ? nullptr : &*from, json);
  write_id("last_id", from == to ? nullptr : &*(to - 1), json);
  return json.member("has_more", to != items.end()).end_object().take();
}

}  // namespace hostler
