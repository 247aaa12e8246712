// Entitlements as clients write them: {key, value, value_type}. Used by plans and by overrides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fcgi/http/input.h"
#include "fcgi/http/response.h"
#include "lib/json.h"

namespace hostler {

// Reads and checks the three members: the value must fit its type, a known key its fixed type.
// Writes them as members of the object that json has open. Answers the key, "" of a bad one; blanks
// around it are cut: with them it would be another key, which nothing reads.
std::string read_entitlement(Fields& fields, JsonWriter& json);

// Whether the key is a setting that entitlements of an organization change.
bool is_org_limit(std::string_view key);
// Warning about keys that no part of Hostler reads; empty if all are known.
std::string entitlement_warning(const std::vector<std::string>& keys);
// The row's JSON object, with the member warning unless that is empty.
Response row_with_warning(int status, postgres::Result result, const std::string& warning);

// A whole number within 64 bits; nothing of other texts.
std::optional<int64_t> integer_of(const std::string& text);
// Known keys have a fixed type (contract section 6, money); all others are free.
bool is_integer_key(const std::string& key);
// The least whole number that a known key takes: its setting's, where it has one.
int64_t entitlement_min(const std::string& key);

}  // namespace hostler
