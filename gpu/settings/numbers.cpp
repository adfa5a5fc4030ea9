#include "gpu/settings/numbers.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"

namespace warpscope::training {
namespace {

/// object[name], which must be there.
const nlohmann::json& value_of(const nlohmann::json& object, const char* name, std::string_view where) {
  require_object(object, where);
  const auto found = object.find(name);
  if (found == object.end()) throw core::BadInput(fmt::format("{} lacks its field '{}'", where, name));
  return *found;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> value = files::number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

double shortest(float value) {
  return parse_number(fmt::format("{}", value)).value_or(static_cast<double>(value));
}

double number_field(const nlohmann::json& object, const char* name, std::string_view where, double least,
                    double most) {
  const nlohmann::json& value = value_of(object, name, where);
  const double number = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(number) && number >= least && number <= most) return number;
  throw core::BadInput(fmt::format("'{}' of {} is {}; valid: a number from {} to {}", name, where,
                                   value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), least,
                                   most));
}

std::uint64_t count_field(const nlohmann::json& object, const char* name, std::string_view where,
                          std::uint64_t most) {
  const nlohmann::json& value = value_of(object, name, where);
  // A negative whole number is not "unsigned" to the library once parsed; one that was put in by code is
  // signed always.
  const bool counts =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (counts && value.get<std::uint64_t>() <= most) return value.get<std::uint64_t>();
  throw core::BadInput(fmt::format("'{}' of {} is {}; valid: a whole number from 0 to {}", name, where,
                                   value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                                   most));
}

std::optional<double> optional_number_field(const nlohmann::json& object, const char* name,
                                            std::string_view where) {
  if (value_of(object, name, where).is_null()) return std::nullopt;
  constexpr double kMost = std::numeric_limits<double>::max();
  return number_field(object, name, where, -kMost, kMost);
}

void require_object(const nlohmann::json& object, std::string_view where) {
  if (!object.is_object()) {
    throw core::BadInput(fmt::format("{} is {}, not an object of named fields", where, object.type_name()));
  }
}

}  // namespace warpscope::training
