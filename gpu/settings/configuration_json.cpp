#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/byte_text.h"
#include "gpu/files/file.h"
#include "gpu/files/format.h"
#include "gpu/files/read_json.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model_file.h"
#include "gpu/ops/op.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training {
namespace {

using nlohmann::json;

constexpr const char* kNetwork = "network";

/// " ..." in `objection` if nothing can hold it.
std::optional<Value> value_of(const json& from, std::string& objection) {
  constexpr auto kMostWhole = std::numeric_limits<std::int64_t>::max();
  if (from.is_boolean()) return Value(from.get<bool>());
  if (from.is_number_unsigned() && from.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostWhole)) {
    objection = fmt::format(" must be at most {}, not {}", kMostWhole, from.get<std::uint64_t>());
    return std::nullopt;
  }
  if (from.is_number_integer()) return Value(from.get<std::int64_t>());
  if (from.is_number()) return Value(from.get<double>());
  if (from.is_string()) return Value(from.get<std::string>());
  objection = fmt::format(" takes a single value, not an {}", from.type_name());
  return std::nullopt;
}

/// "conv2d.forward=naive,..." from {"conv2d.forward": "naive", ...}.
std::string selection_text(const json& selection, std::string_view where) {
  std::string text;
  for (const auto& [op, variant] : selection.items()) {
    if (!variant.is_string()) {
      throw core::BadInput(fmt::format("{}: \"chosen\" does not name a variant of {}", where, op));
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", op, variant.get<std::string>());
  }
  return text;
}

/// A text that stands in an entry of its own, since it is not UTF-8; false if there is none.
bool read_bytes(const json& object, std::string_view where, const Setting& row, Configuration& to) {
  const std::string key = std::string(row.name) += files::kBytesOf;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  const std::optional<std::string> bytes = files::percent_decoded(found->get<std::string>());
  if (!bytes)
    throw core::BadInput(fmt::format("{}: \"{}\" has a % without two hexadecimal digits", where, key));
  to.set(row.name, *bytes);
  return true;
}

void read_setting(const json& object, std::string_view where, const Setting& row, Configuration& to) {
  if (row.field.kind == Kind::text && read_bytes(object, where, row, to)) return;
  const auto found = object.find(row.name);
  if (found == object.end() || found->is_null()) return;
  std::string objection;
  std::optional<Value> value = value_of(*found, objection);
  if (value) objection = check_value(row, *value);
  if (!objection.empty()) throw core::BadInput(fmt::format("{}: \"{}\"{}", where, row.name, objection));
  to.put(row, std::move(*value));
}

/// What nlohmann-json says of bad syntax, behind FILE:LINE:COLUMN.
[[noreturn]] void refuse_syntax(const std::string& text, std::string_view name,
                                const json::parse_error& error) {
  const std::string_view before = std::string_view(text).substr(0, error.byte > 0 ? error.byte - 1 : 0);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  std::string_view what = error.what();
  const std::size_t column = what.find("column ");
  const std::size_t colon = what.find(": ", column == std::string_view::npos ? 0 : column);
  if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
  throw core::BadInput(
      fmt::format("{}:{}:{}: {}", name, line, before.size() - line_begin + 1, files::one_sentence(what)));
}

Configuration parse_run(const std::string& text, const std::string& name, bool prefer_current) {
  if (files::is_deep_json(text))
    throw core::BadInput(fmt::format("{} is damaged: it is nested more deeply than any run.json", name));
  json run;
  try {
    run = json::parse(text);
  } catch (const json::parse_error& error) {
    refuse_syntax(text, name, error);
  } catch (const json::exception&) {
    throw core::BadInput(fmt::format("{} is damaged: it holds a number that is too large", name));
  }
  const bool is_run = run.is_object() && (run.contains("configuration") || run.contains(files::kFormat));
  const std::string why = is_run ? files::refusal_of_format(run, files::kRunFormat) : "";
  if (!why.empty()) throw core::BadInput(fmt::format("{} {}", name, why));
  const bool changed = prefer_current && run.is_object() && run.contains("current");
  const auto found = run.is_object() ? run.find(changed ? "current" : "configuration") : run.end();
  if (found == run.end() || !found->is_object()) {
    throw core::BadInput(fmt::format("{} holds no object \"configuration\", as a run.json does", name));
  }
  return from_json(*found, name);
}

}  // namespace

json to_json(const Configuration& configuration) {
  json object = json::object();
  for (const Setting& row : settings()) {
    const Value* const value = configuration.find(row.name);
    if (value == nullptr) continue;
    std::visit([&](const auto& held) { object[row.name] = held; }, *value);
    const auto* const text = std::get_if<std::string>(value);
    if (text == nullptr || files::is_utf8(*text)) continue;
    object[row.name] = files::valid_utf8(*text);
    object[std::string(row.name) += files::kBytesOf] = files::percent_encoded(*text);
  }
  // A network that is not built in stands in an entry of its own, beside its name.
  const auto model = object.find("model");
  if (model == object.end()) return object;
  if (const std::string text = *model; text.find('\n') != std::string::npos) {
    object["model"] = models::name_in(text);
    object[kNetwork] = text;
  }
  return object;
}

Configuration from_json(const json& object, std::string_view where) {
  Configuration configuration;
  if (const auto network = object.find(kNetwork); network != object.end()) {
    json plain = object;
    plain["model"] = *network;
    plain.erase(kNetwork);
    return from_json(plain, where);
  }
  for (const Setting& row : settings()) read_setting(object, where, row, configuration);
  if (const auto chosen = object.find("chosen"); chosen != object.end() && chosen->is_object()) {
    configuration.set("select", selection_text(*chosen, where));
  } else if (object.contains("selection")) {
    throw core::BadInput(
        fmt::format("{} was written by an earlier version and names no choice of variants", where));
  }
  return configuration;
}

Configuration read_run(const std::filesystem::path& file) {
  const files::InputFile opened(file);  // what is none is refused: a pipe would be waited for
  return parse_run(opened.read_up_to(0, static_cast<std::size_t>(opened.size())), file.string(), true);
}

ConfigurationFile read_configuration(const std::filesystem::path& file) {
  const std::string text = files::read_text(file, kMostText);
  const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (first == std::string::npos || text[first] != '{') return {parse_toml(text, file.string())};
  ConfigurationFile read{parse_run(text, file.string(), false), true};
  for (const char* name : {"run_dir", "save"}) read.configuration.erase(name);
  return read;
}

}  // namespace warpscope::training
