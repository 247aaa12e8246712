// Takes the lists of hosts apart and turns them; see lib/postgres/hosts.h.
#include "lib/postgres/hosts.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace hostler::postgres {
namespace {

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

HostOrder::HostOrder(const std::string& conninfo) {
  auto free_options = [](PQconninfoOption* options) { PQconninfoFree(options); };
  std::unique_ptr<PQconninfoOption, decltype(free_options)> options(
      PQconninfoParse(conninfo.c_str(), nullptr), free_options);
  if (!options) return;  // connecting will say what is wrong with it
  for (const PQconninfoOption* at = options.get(); at->keyword != nullptr; ++at) {
    if (at->val == nullptr || *at->val == '\0') continue;
    std::string_view keyword(at->keyword);
    if (keyword != "host" && keyword != "hostaddr" && keyword != "port") continue;
    const char* name = keyword == "host" ? "host" : keyword == "port" ? "port" : "hostaddr";
    List list{name, parts_of(at->val)};
    if (keyword != "port") count_ = std::max(count_, list.values.size());
    lists_.push_back(std::move(list));
  }
}

bool HostOrder::names_tcp_host() const {
  for (const List& list : lists_) {
    if (std::string_view(list.name) == "port") continue;
    for (const std::string& host : list.values) {
      // An empty one is the default: a socket.
      if (!host.empty() && host.front() != '/' && host.front() != '@') return true;
    }
  }
  return false;
}

void HostOrder::turn() {
  if (count_ > 1) first_ = (first_ + 1) % count_;
}

void HostOrder::put_last(std::string_view host, std::string_view port) {
  auto is_names = [](const List& list) { return std::string_view(list.name) == "host"; };
  bool has_names = std::any_of(lists_.begin(), lists_.end(), is_names);
  for (size_t i = 0; i < count_; ++i) {
    auto is_it = [&](const List& list) {
      if (list.values.size() != count_) return true;  // one port for all hosts
      std::string_view name(list.name);
      if (name == "port") return list.values[i] == port;
      // libpq tells the name, and the address of what has none.
      return (name == "hostaddr" && has_names) || list.values[i] == host;
    };
    if (!std::all_of(lists_.begin(), lists_.end(), is_it)) continue;
    first_ = i;
    break;
  }
  turn();
}

std::vector<HostOrder::Word> HostOrder::words() const {
  std::vector<Word> words;
  if (first_ == 0) return words;
  for (const List& list : lists_) {
    if (list.values.size() != count_) continue;  // one port for all hosts
    std::string turned;
    for (size_t i = 0; i < count_; ++i) {
      turned += (i == 0 ? "" : ",") + list.values[(first_ + i) % count_];
    }
    words.push_back({list.name, std::move(turned)});
  }
  return words;
}

std::vector<HostOrder::Word> HostOrder::words_of_one(size_t index) const {
  std::vector<Word> words;
  for (const List& list : lists_) {
    bool is_for_all = list.values.size() != count_;  // one port for all hosts
    words.push_back({list.name, list.values.at(is_for_all ? 0 : index)});
  }
  return words;
}

std::string conninfo_fault(const std::string& conninfo) {
  bool is_url = conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
  // libpq takes what is neither for the name of a database.
  if (!is_url && conninfo.find('=') == std::string::npos) return "";
  char* words = nullptr;
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(conninfo.c_str(), &words), &PQconninfoFree);
  std::unique_ptr<char, void (*)(void*)> owned(words, &PQfreemem);
  if (options) return "";
  std::string fault = words == nullptr ? "libpq has no memory" : words;
  while (fault.ends_with('\n')) fault.pop_back();
  size_t first = fault.find('"');
  size_t last = fault.rfind('"');
  return first == last ? fault : fault.replace(first + 1, last - first - 1, "…");
}

}  // namespace hostler::postgres
