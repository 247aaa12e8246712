// Describes this service to clients of SCIM (RFC 7644, section 4). Asks no database.
#include <string>

#include "fcgi/api/handlers.h"
#include "fcgi/api/scim/exchange.h"
#include "fcgi/api/scim/schema.h"
#include "fcgi/http/input.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr std::string_view list_schema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

void begin_list(JsonWriter& json, int count) {
  json.begin_object().key("schemas").begin_array().text(list_schema).end_array();
  json.member("totalResults", count).member("startIndex", 1).member("itemsPerPage", count);
  json.key("Resources").begin_array();
}

Response list_response(JsonWriter& json) {
  return scim::response_of(200, json.end_array().end_object().take());
}

void write_support(JsonWriter& json, std::string_view name, bool is_supported) {
  json.key(name).begin_object().member("supported", is_supported);
  if (name == "filter") json.member("maxResults", 200);
  if (name == "bulk") json.member("maxOperations", 0).member("maxPayloadSize", 0);
  json.end_object();
}

void write_type(JsonWriter& json, std::string_view name, std::string_view schema,
                bool has_extension) {
  json.begin_object().key("schemas").begin_array();
  json.text("urn:ietf:params:scim:schemas:core:2.0:ResourceType").end_array();
  json.member("id", name).member("name", name);
  json.member("endpoint", "/" + std::string(name) + "s").member("schema", schema);
  json.key("schemaExtensions").begin_array();
  if (has_extension) {
    json.begin_object().member("schema", scim::enterprise_schema).member("required", false);
    json.end_object();
  }
  json.end_array();
  json.key("meta").begin_object().member("resourceType", "ResourceType");
  json.member("location", "/v1/scim/v2/ResourceTypes/" + std::string(name));
  json.end_object().end_object();
}

// The head of an attribute (RFC 7643, section 7), whose object stays open.
void begin_attribute(JsonWriter& json, std::string_view name, std::string_view type, bool is_many,
                     bool is_read_only) {
  json.begin_object().member("name", name).member("type", type).member("multiValued", is_many);
  json.member("required", name == "userName" || (name == "displayName" && is_read_only));
  json.member("caseExact", name == "externalId" || name == "id");
  json.member("mutability", is_read_only ? "readOnly" : "readWrite");
  json.member("returned", "default");
  json.member("uniqueness", name == "userName" ? "server" : "none");
}

void write_sub_attributes(JsonWriter& json, std::string_view names) {
  json.key("subAttributes").begin_array();
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(' '));
    begin_attribute(json, name, name == "primary" ? "boolean" : "string", false, false);
    json.end_object();
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
  json.end_array();
}

void write_attribute(JsonWriter& json, const scim::Attribute& attribute) {
  bool is_list = attribute.kind == scim::Kind::list;
  std::string_view type = attribute.kind == scim::Kind::text      ? "string"
                          : attribute.kind == scim::Kind::boolean ? "boolean"
                                                                  : "complex";
  begin_attribute(json, attribute.name, type, is_list, false);
  if (type == "complex") write_sub_attributes(json, attribute.sub_names);
  json.end_object();
}

void begin_schema(JsonWriter& json, std::string_view id, std::string_view name) {
  json.begin_object().key("schemas").begin_array();
  json.text("urn:ietf:params:scim:schemas:core:2.0:Schema").end_array();
  json.member("id", id).member("name", name).key("attributes").begin_array();
}

void end_schema(JsonWriter& json, std::string_view id) {
  json.end_array().key("meta").begin_object().member("resourceType", "Schema");
  json.member("location", "/v1/scim/v2/Schemas/" + std::string(id)).end_object().end_object();
}

void write_user_schema(JsonWriter& json, bool is_enterprise) {
  std::string_view id = is_enterprise ? scim::enterprise_schema : scim::user_schema;
  begin_schema(json, id, is_enterprise ? "EnterpriseUser" : "User");
  for (const scim::Attribute& attribute : scim::user_attributes()) {
    if (attribute.is_enterprise == is_enterprise) write_attribute(json, attribute);
  }
  if (!is_enterprise) {
    begin_attribute(json, "groups", "complex", true, true);
    write_sub_attributes(json, "value display");
    json.end_object();
    begin_attribute(json, "urn:hostler:scim:pending", "boolean", false, true);
    json.end_object();
  }
  end_schema(json, id);
}

}  // namespace

Task<Response> show_scim_config(Call&) {
  JsonWriter json;
  json.begin_object().key("schemas").begin_array();
  json.text("urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig").end_array();
  for (std::string_view name : {"patch", "filter"}) write_support(json, name, true);
  for (std::string_view name : {"bulk", "changePassword", "sort", "etag"}) {
    write_support(json, name, false);
  }
  json.key("authenticationSchemes").begin_array().begin_object();
  json.member("type", "oauthbearertoken").member("name", "Bearer token");
  json.member("description", "A token of POST /v1/orgs/{org_id}/scim-tokens");
  json.member("primary", true).end_object().end_array();
  json.key("meta").begin_object().member("resourceType", "ServiceProviderConfig");
  json.member("location", "/v1/scim/v2/ServiceProviderConfig").end_object().end_object();
  co_return scim::response_of(200, json.take());
}

Task<Response> list_scim_resource_types(Call&) {
  JsonWriter json;
  begin_list(json, 2);
  write_type(json, "User", scim::user_schema, true);
  write_type(json, "Group", scim::group_schema, false);
  co_return list_response(json);
}

Task<Response> list_scim_schemas(Call&) {
  JsonWriter json;
  begin_list(json, 3);
  write_user_schema(json, false);
  write_user_schema(json, true);
  begin_schema(json, scim::group_schema, "Group");
  for (std::string_view name : {"displayName", "externalId"}) {
    begin_attribute(json, name, "string", false, false);
    json.end_object();
  }
  begin_attribute(json, "members", "complex", true, false);
  write_sub_attributes(json, "value display type");
  json.end_object();
  end_schema(json, scim::group_schema);
  co_return list_response(json);
}

}  // namespace hostler
