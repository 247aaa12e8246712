// See runner/models/try_end.h.
#include "runner/models/try_end.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/ascii.h"

namespace hostler {
namespace {

bool is_worth_retrying(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

}  // namespace

TryEnd end_by_refusal(ProviderError error, std::string_view api_key) {
  TryEnd end;
  std::string excerpt = safe_excerpt(error.message, api_key);
  end.may_retry = is_worth_retrying(error.status);
  end.is_of_provider = end.may_retry;
  end.is_outage = error.status >= 500;
  end.reason = "http_" + std::to_string(error.status);
  std::string_view what = "The model provider refused the request";
  if (error.status == 429) {
    end.code = "model.rate_limited";
    what = "The model provider limits our requests";
  } else if (end.may_retry) {
    end.code = "model.unavailable";
    what = "The model provider is not available";
  } else {
    end.code = "model.rejected";
  }
  end.message = fmt::format("{} (HTTP {})", what, error.status);
  end.message += excerpt.empty() ? "." : ": " + excerpt;
  end.refusal = std::move(error);
  return end;
}

TryEnd end_by_http_failure(const http::HttpFailure& failure) {
  http::HttpFailureKind kind = failure.kind;
  TryEnd end;
  end.reason = http::http_failure_name(kind);
  end.code = "model.unavailable";
  end.may_retry = true;
  end.is_of_provider = true;
  end.is_outage = true;
  if (kind == http::HttpFailureKind::denied_address || kind == http::HttpFailureKind::bad_request) {
    end.code = "model.rejected";
    end.message = "The model provider's address is not allowed.";
    end.may_retry = false;
    end.is_of_provider = false;
    end.is_outage = false;
  } else if (kind == http::HttpFailureKind::too_large || kind == http::HttpFailureKind::protocol) {
    end.code = "model.bad_response";
    end.message = "The model provider's answer could not be read.";
    end.may_retry = false;
    end.is_unreadable = true;
    end.is_outage = false;
  } else {
    end.message =
        "The model provider is not available (" + http::http_failure_words(failure) + ").";
  }
  return end;
}

TryEnd end_by_fault(const TurnFault& fault, std::string_view api_key) {
  TryEnd end;
  end.reason = "bad_response";
  end.is_unreadable = true;
  switch (fault.kind) {
    case TurnFault::Kind::provider_error:
      return end_by_refusal(fault.error, api_key);
    case TurnFault::Kind::bad_finish:
    case TurnFault::Kind::no_answer:
      end.code = "model.unavailable";
      end.message =
          "The model provider failed: " + safe_excerpt(fault.error.message, api_key) + ".";
      end.reason = fault.kind == TurnFault::Kind::no_answer ? "no_answer" : "bad_finish";
      end.may_retry = true;
      end.is_of_provider = true;
      end.is_unreadable = false;
      break;
    case TurnFault::Kind::too_long:
      end.code = "run.answer_too_long";
      end.message = "The model's answer is over 4 MiB.";
      break;
    case TurnFault::Kind::too_many_calls:
      end.code = "run.turn_limit";
      end.message = fmt::format(
          "The model called more than {} tools in one turn, which is the limit of every run.",
          turn_tool_calls_max);
      break;
    case TurnFault::Kind::bad_response:
      end.code = "model.bad_response";
      end.message = "The model provider's answer could not be read: " + fault.error.message + ".";
      end.is_of_provider = true;
      break;
  }
  return end;
}

TryEnd end_too_early() {
  TryEnd end;
  end.code = "model.unavailable";
  end.message = "The model provider's answer broke off.";
  end.reason = "broken_off";
  end.may_retry = true;
  end.is_of_provider = true;
  end.is_outage = true;
  return end;
}

TryEnd end_full(const ModelObserver& observer) {
  TryEnd end;
  end.code = "run.output_limit";
  end.message = observer.full_message();
  end.reason = "output_limit";
  end.is_unreadable = true;
  return end;
}

std::string redirect_words(std::string_view location, std::string_view request_url) {
  constexpr size_t target_bytes_max = 150;
  location = location.substr(0, location.find_first_of("?#"));
  if (location.empty()) return "it redirects without an address";
  std::string target(location);
  size_t scheme_end = request_url.find("://");
  if (scheme_end == request_url.npos) scheme_end = 0;
  if (location.starts_with("//")) {
    target = std::string(request_url.substr(0, scheme_end + 1)) + target;
  } else if (location.find("://") == location.npos) {
    size_t path = std::min(request_url.find('/', scheme_end + 3), request_url.size());
    if (location.front() != '/') target = "/" + target;
    target = std::string(request_url.substr(0, path)) + target;
  }
  size_t host = target.find("://");
  size_t path = host == target.npos ? host : target.find('/', host + 3);
  size_t user = target.substr(0, path).rfind('@');
  if (host != target.npos && user != target.npos) target.erase(host + 3, user - host - 2);
  return "it redirects to " + target.substr(0, target_bytes_max);
}

}  // namespace hostler
