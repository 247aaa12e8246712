// Words that this tree once had for things the field has words for. Names of C++ and SQL are held
// against them by tests/style/name_rules.h; nobody outside knew what they meant.
#pragma once

#include <array>
#include <string_view>

namespace hostler::style {

struct RetiredWord {
  std::string_view word;
  std::string_view instead;
};

// As a part of any name.
constexpr std::array<RetiredWord, 31> retired_parts = {{
    {"aside", "background"},     {"beat", "heartbeat"},
    {"bell", "notification"},    {"bells", "notifications"},
    {"door", "listener"},        {"doors", "listeners"},
    {"doubles", "duplicates"},   {"flights", "in-flight batches"},
    {"follower", "subscriber"},  {"followers", "subscribers"},
    {"gate", "semaphore"},       {"hunger", "out of memory"},
    {"judge", "check"},          {"judged", "checked"},
    {"judgement", "check"},      {"judges", "checks"},
    {"patiently", "with retry"}, {"places", "endpoints, permits, indexes"},
    {"retold", "replay"},        {"rung", "notified"},
    {"seat", "worker slot"},     {"seats", "worker slots"},
    {"settle", "finish"},        {"spared", "except"},
    {"storm", "stress"},         {"stray", "orphan"},
    {"strays", "orphans"},       {"sweep", "poll"},
    {"sweeps", "polls"},         {"tellable", "redacted"},
    {"upkeep", "maintenance"},
}};

// As a whole name.
constexpr std::array<RetiredWord, 36> retired_names = {{
    {"BareCaller", "RawClient"},
    {"EndWorld", "UserEndFixture"},
    {"EventFeed", "EventBus"},
    {"FaultyLine", "FaultyProxy"},
    {"MetricsSeat", "MetricsWriter"},
    {"OutboundDoor", "EgressProxy"},
    {"PasswordGate", "PasswordSemaphore"},
    {"PasswordPlaces", "PasswordPermits"},
    {"PlaceLookup", "GeoLookup"},
    {"RunWorld", "RunFixture"},
    {"SecretPlace", "SecretIdentity"},
    {"ShownText", "StreamedText"},
    {"StreamStage", "StreamHarness"},
    {"SureCaller", "RetryingClient"},
    {"TcpPlace", "TcpEndpoint"},
    {"TenancyWorld", "TenancyFixture"},
    {"TestTalk", "TestConversation"},
    {"ToolBench", "ToolFixture"},
    {"WorkerPlace", "WorkerContext"},
    {"attempt_quick", "attempt_pipelined"},
    {"die_of_hunger", "exit_on_out_of_memory"},
    {"need_of", "required_permission"},
    {"now_is", "new_state"},
    {"outbox_bell", "outbox_notify"},
    {"place_of_listener", "endpoint_of_listener"},
    {"platform_fold", "platform_roll_up"},
    {"query_then_ring", "query_then_notify"},
    {"read_patiently", "read_with_retry"},
    {"run_bell", "run_notify"},
    {"run_shown_text", "run_streamed_text"},
    {"set_way", "set_proxy"},
    {"stand_in", "fake_model"},
    {"subscription_upkeep", "subscription_maintenance"},
    {"take_flight", "take_in_flight"},
    {"tellable_path", "redacted_path"},
    {"write_off", "record_attempt"},
}};

}  // namespace hostler::style
