// See fcgi/api/catalog/model_base_url.h.
#include "fcgi/api/catalog/model_base_url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "lib/ascii.h"
#include "lib/http/client_url.h"

namespace hostler {
namespace {

using Segments = std::vector<std::string_view>;

// Where Chat Completions are, by the documentation of each. Not listed: hosts that answer with the
// version and without (api.deepseek.com).
struct KnownHost {
  std::string_view host;  // a beginning with a dot: every host that ends so
  std::string_view path;
};
constexpr std::array known_hosts{
    KnownHost{"api.openai.com", "v1"},
    KnownHost{"eu.api.openai.com", "v1"},
    KnownHost{"us.api.openai.com", "v1"},
    KnownHost{"api.anthropic.com", "v1"},
    KnownHost{"api.groq.com", "openai/v1"},
    KnownHost{"openrouter.ai", "api/v1"},
    KnownHost{"api.mistral.ai", "v1"},
    KnownHost{"api.together.xyz", "v1"},
    KnownHost{"api.together.ai", "v1"},
    KnownHost{"api.fireworks.ai", "inference/v1"},
    KnownHost{"api.x.ai", "v1"},
    KnownHost{"generativelanguage.googleapis.com", "v1beta/openai"},
    KnownHost{"api.moonshot.ai", "v1"},
    KnownHost{"api.moonshot.cn", "v1"},
    KnownHost{"api.cerebras.ai", "v1"},
    KnownHost{"api.perplexity.ai", ""},
    KnownHost{"api.deepinfra.com", "v1/openai"},
    KnownHost{"api.sambanova.ai", "v1"},
    KnownHost{"api.cohere.ai", "compatibility/v1"},
    KnownHost{"api.cohere.com", "compatibility/v1"},
    KnownHost{"dashscope.aliyuncs.com", "compatible-mode/v1"},
    KnownHost{"dashscope-intl.aliyuncs.com", "compatible-mode/v1"},
    KnownHost{"integrate.api.nvidia.com", "v1"},
    KnownHost{"router.huggingface.co", "v1"},
    KnownHost{"ai-gateway.vercel.sh", "v1"},
    KnownHost{".openai.azure.com", "openai/v1"},
};

bool is_azure(std::string_view host) { return host.ends_with(".azure.com"); }

std::string host_of(std::string_view typed) {
  std::optional<http::HttpUrl> url = http::parse_http_url(typed);
  return url ? url->host : std::string();
}

const KnownHost* known_host(std::string_view host) {
  auto matches = [host](const KnownHost& known) {
    return known.host.starts_with('.') ? host.ends_with(known.host) : host == known.host;
  };
  auto found = std::find_if(known_hosts.begin(), known_hosts.end(), matches);
  return found == known_hosts.end() ? nullptr : &*found;
}

// Splits "/a//b/" into a, "", b. Empty parts within a path stay, because some gateways have a whole
// URL in theirs.
Segments segments_of(std::string_view path) {
  Segments segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

bool ends_with(const Segments& segments, const Segments& end) {
  return segments.size() >= end.size() && std::equal(end.rbegin(), end.rend(), segments.rbegin());
}

// Answers whether there was anything to drop.
bool drop_end(Segments& segments, const Segments& end) {
  if (!ends_with(segments, end)) return false;
  segments.resize(segments.size() - end.size());
  return true;
}

void drop_trailing_slashes(Segments& segments) {
  while (drop_end(segments, {""})) {
  }
}

void drop_endpoint(std::string_view provider_kind, Segments& segments) {
  bool has_more = true;
  while (has_more) {
    drop_trailing_slashes(segments);
    has_more = provider_kind == "anthropic"
                   ? drop_end(segments, {"v1", "messages"}) || drop_end(segments, {"v1"})
                   : drop_end(segments, {"chat", "completions"}) ||
                         drop_end(segments, {"completions"}) || drop_end(segments, {"responses"});
  }
}

// The path that the host needs, where the typed one is it in part, "v1", or it with a "v1" behind.
// A path of another kind stays: it may be one that this table does not know.
void complete_path(const KnownHost& known, Segments& segments) {
  std::erase(segments, std::string_view());
  Segments needed;
  if (!known.path.empty()) {
    for (std::string_view rest = known.path;;) {
      size_t end = std::min(rest.find('/'), rest.size());
      needed.push_back(rest.substr(0, end));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
    }
  }
  Segments with_version = needed;
  with_version.emplace_back("v1");
  bool is_part = segments.size() <= needed.size() &&
                 std::equal(segments.begin(), segments.end(), needed.begin());
  if (is_part || segments == Segments{"v1"} || segments == with_version) segments = needed;
}

}  // namespace

std::string corrected_base_url(std::string_view provider_kind, std::string_view typed) {
  size_t authority = typed.find("//");
  if (authority == std::string_view::npos) return std::string(typed);
  size_t path_begin = std::min(typed.find('/', authority + 2), typed.size());
  Segments segments = segments_of(typed.substr(path_begin));
  drop_endpoint(provider_kind, segments);
  if (provider_kind != "anthropic") {
    while (ends_with(segments, {"v1", "v1"})) segments.pop_back();
    const KnownHost* known = known_host(host_of(typed));
    if (known != nullptr) complete_path(*known, segments);
  }
  std::string url(typed.substr(0, path_begin));
  for (std::string_view segment : segments) {
    url += '/';
    url += segment;
  }
  return url;
}

std::string query_fault_of_base_url(std::string_view typed) {
  bool names_version = ascii::lower_case(typed).find("api-version=") != std::string::npos;
  if (names_version || is_azure(host_of(typed))) {
    return "must have no query and no fragment: write https://NAME.openai.azure.com/openai/v1 for "
           "Azure OpenAI, which needs no api-version there, and the deployment's name as the model";
  }
  return "must have no query and no fragment; remove everything from ? or # on";
}

}  // namespace hostler
