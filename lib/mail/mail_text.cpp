// The templates and who fills them. See lib/mail/mail_text.h.
#include "lib/mail/mail_text.h"

#include <fmt/format.h>

#include <kainjow/mustache.hpp>

#include <mail_templates.h>

#include "lib/ascii.h"
#include "lib/error.h"
#include "lib/utf8.h"

namespace hostler::mail {
namespace {

// "zh" of "zh-Hant-TW".
std::string_view language_of(std::string_view locale) {
  return locale.substr(0, locale.find_first_of("-_"));
}

const MailTemplate* find_template(std::string_view name, std::string_view language) {
  const MailTemplate* found = nullptr;
  for (const MailTemplate& row : mail_templates) {
    if (row.name != name) continue;
    if (row.locale == language) return &row;
    if (row.locale == "en") found = &row;
  }
  return found;
}

// A text as it stands in one line: what people chose as names must not make lines.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (char c : text) line += ascii::is_control(c) ? ' ' : c;
  return line;
}

// Texts of these names people chose, and mail to strangers with.
bool is_name(std::string_view field) {
  return field == "username" || field == "inviter" || field == "org_name" ||
         field == "budget_name" || field == "end_user";
}

// A name must not read like a letter of its own: it is cut short, and no program that shows the
// mail makes a link of it.
std::string as_name(const std::string& text) {
  constexpr int characters_max = 64;
  std::string name;
  int characters = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (begins_character(text[at]) && ++characters > characters_max) return name + "…";
    name += text[at];
    bool may_join = text[at] == '.' || text[at] == ':' || text[at] == '@';
    if (may_join && at + 1 < text.size() && text[at + 1] != ' ') name += ' ';
  }
  return name;
}

void add_member(kainjow::mustache::data& data, const std::string& name, const Json& value);

void add_members(kainjow::mustache::data& data, const Json& object) {
  if (object.as_object() == nullptr) return;
  for (const auto& [name, value] : *object.as_object()) add_member(data, name, value);
}

void add_member(kainjow::mustache::data& data, const std::string& name, const Json& value) {
  if (const std::string* text = value.as_text()) {
    // An empty text counts as absent for the template's sections.
    if (text->empty()) return;
    std::string line = in_one_line(*text);
    data.set(name, is_name(name) ? as_name(line) : line);
  } else if (const Json::Array* items = value.as_array()) {
    kainjow::mustache::data list{kainjow::mustache::data::type::list};
    for (const Json& item : *items) {
      kainjow::mustache::data one;
      add_members(one, item);
      list.push_back(one);
    }
    data.set(name, list);
  } else if (!value.is_null()) {
    data.set(name, value.dump());
  }
}

std::string fill(std::string_view source, const kainjow::mustache::data& data, bool is_html) {
  kainjow::mustache::mustache filler{std::string(source)};
  if (!filler.is_valid()) {
    throw Error(ErrorCode::internal_error, {}, "template: " + filler.error_message());
  }
  if (!is_html) filler.set_custom_escape([](const std::string& text) { return text; });
  return filler.render(data);
}

// Address in the console, by template.
std::string_view screen_of(std::string_view name) {
  if (name == "verify_email" || name == "change_email") return "verify";
  if (name == "email_changed") return "revert";
  return name == "invitation" ? "invitation" : "";
}

}  // namespace

std::string mail_link(std::string_view name, std::string_view site_url, std::string_view token) {
  std::string_view screen = screen_of(name);
  if (screen.empty() || site_url.empty() || token.empty()) return {};
  while (site_url.ends_with('/')) site_url.remove_suffix(1);
  return fmt::format("{}/console/#/{}?token={}", site_url, screen, token);
}

std::optional<MailText> mail_text(std::string_view name, std::string_view locale,
                                  const std::vector<Json>& fields) {
  const MailTemplate* source = find_template(name, language_of(locale));
  if (source == nullptr) return std::nullopt;
  kainjow::mustache::data data;
  for (const Json& object : fields) add_members(data, object);
  MailText text;
  text.subject = source->subject;  // said as it stands: nobody's words and no code
  text.plain = fill(source->plain, data, false);
  text.html = fill(source->html, data, true);
  return text;
}

}  // namespace hostler::mail
