#include "gpu/settings/setting.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/models/model_file.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

constexpr double kMostInteger = 9223372036854775807.0;  ///< as a double it is one too large

std::string wrong_type(const char* right, const Value& value) {
  const char* const quote = std::holds_alternative<std::string>(value) ? "'" : "";
  return fmt::format(" takes {}, not {}{}{}", right, quote, to_string(value), quote);
}

/// "" if it is in `range`; NaN is in none.
std::string range_objection(const Range& range, double value, const std::string& text) {
  const bool above = range.above_least ? value > range.least : value >= range.least;
  if (above && (range.below_most ? value < range.most : value <= range.most)) return "";
  if (value < range.least) return fmt::format(" must be {:g} or more, not {}", range.least, text);
  if (value == range.least) return fmt::format(" must be more than {:g}, not {}", range.least, text);
  return fmt::format(" must be {} {:.10g}, not {}", range.below_most ? "less than" : "at most", range.most,
                     text);
}

std::int64_t most_integer(const Range& range) {
  return range.most >= kMostInteger ? std::numeric_limits<std::int64_t>::max()
                                    : static_cast<std::int64_t>(range.most);
}

/// A whole number that no integer holds comes as text.
bool is_huge(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr && text->size() > std::numeric_limits<std::int64_t>::digits10 &&
         text->find_first_not_of("0123456789") == std::string::npos;
}

std::string check_integer(const Setting& setting, const Value& value) {
  if (is_huge(value)) {
    return fmt::format(" must be at most {}, not {}", most_integer(setting.range),
                       std::get<std::string>(value));
  }
  const auto* const integer = std::get_if<std::int64_t>(&value);
  if (integer == nullptr) return wrong_type("a whole number", value);
  return range_objection(setting.range, static_cast<double>(*integer), to_string(value));
}

std::string check_real(const Setting& setting, Value& value) {
  double real = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    real = static_cast<double>(*integer);
  } else if (std::holds_alternative<double>(value)) {
    real = std::get<double>(value);
  } else {
    return wrong_type("a number", value);
  }
  std::string objection = range_objection(setting.range, real, to_string(value));
  if (objection.empty()) value = setting.field.single ? shortest(static_cast<float>(real)) : real;
  return objection;
}

std::string check_text(const Setting& setting, Value& value) {
  auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return wrong_type("text", value);
  if (text->find('\0') != std::string::npos) return " must not hold a null character";
  if (setting.names != nullptr && setting.settle == nullptr) {
    const std::vector<std::string> names = setting.names();
    if (std::ranges::find(names, *text) != names.end()) return "";
    return fmt::format(": unknown {} '{}'; valid: {}", setting.name, *text, fmt::join(names, ", "));
  }
  try {
    if (setting.check != nullptr) setting.check(*text);
    if (setting.settle != nullptr) *text = setting.settle(*text);
  } catch (const core::BadInput& error) {
    return fmt::format(": {}", error.what());
  }
  return "";
}

/// "autoencoder, mlp or FILE.toml"
std::string names_text(const Setting& setting) {
  return fmt::format("{}{}", fmt::join(setting.names(), ", "),
                     setting.settle == nullptr ? "" : " or FILE.toml");
}

std::string with_spaces(std::string text, char instead) {
  std::ranges::replace(text, '_', instead);
  return text;
}

std::string range_text(const Range& range) {
  const std::string from = fmt::format("{} {:g}", range.above_least ? "above" : "from", range.least);
  if (range.most >= 1e9) return from;
  return fmt::format("{} to {}{:g}", from, range.below_most ? "below " : "", range.most);
}

}  // namespace

const Setting* find_setting(std::string_view name) {
  const std::span<const Setting> rows = settings();
  const auto found = std::ranges::find_if(rows, [name](const Setting& row) { return name == row.name; });
  return found == rows.end() ? nullptr : &*found;
}

const Setting& setting(std::string_view name) {
  if (const Setting* const row = find_setting(name)) return *row;
  throw std::logic_error(fmt::format("there is no setting {}", name));
}

std::string check_value(const Setting& setting, Value& value) {
  switch (setting.field.kind) {
    case Kind::boolean:
      return std::holds_alternative<bool>(value) ? "" : wrong_type("true or false", value);
    case Kind::integer:
      return check_integer(setting, value);
    case Kind::real:
      return check_real(setting, value);
    case Kind::text:
      return check_text(setting, value);
  }
  throw std::logic_error("unknown kind of setting");
}

Value parse_value(const Setting& setting, const std::string& text) {
  if (setting.field.kind == Kind::integer) {
    if (const auto number = files::number_in<std::int64_t>(text)) return *number;
  } else if (setting.field.kind == Kind::real) {
    if (const auto number = files::number_in<double>(text)) return *number;
  }
  return text;
}

std::string decimal(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string to_string(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return decimal(*real);
  return std::get<std::string>(value);
}

std::string shown(const Setting& setting, const Value& value) {
  if (setting.settle != nullptr) return models::name_in(to_string(value));
  if (const auto* const on = std::get_if<bool>(&value)) return *on ? "on" : "off";
  const auto* const real = std::get_if<double>(&value);
  if (*setting.zero != '\0' && (value == Value(0.0) || value == Value(std::int64_t{0}))) return setting.zero;
  return real != nullptr ? fmt::format("{:g}", *real) : to_string(value);
}

std::string option_of(const Setting& setting) {
  return setting.option != nullptr ? setting.option : with_spaces(setting.name, '-');
}

std::string label_of(const Setting& setting) {
  if (setting.label != nullptr) return setting.label;
  return with_spaces(setting.field.kind == Kind::text ? setting.name : setting.key, ' ');
}

std::string values_of(const Setting& setting) {
  if (setting.field.kind == Kind::boolean) return "true or false";
  if (setting.names != nullptr) return names_text(setting);
  if (setting.field.kind == Kind::text) return "text";
  const std::string zero = *setting.zero == '\0' ? "" : fmt::format(" (0: {})", setting.zero);
  return fmt::format("{}{}{}{}", setting.unit, *setting.unit == '\0' ? "" : ", ", range_text(setting.range),
                     zero);
}

std::string standard_of(const Setting& setting) {
  if (*setting.standard_text != '\0') return setting.standard_text;
  const Configuration known = defaults();
  const Value* const value = known.find(setting.name);
  if (value == nullptr) return "";
  const auto* const real = std::get_if<double>(value);
  return real != nullptr ? fmt::format("{:g}", *real) : to_string(*value);
}

std::string describe(const Setting& setting) {
  std::string text = setting.meaning;
  if (setting.names != nullptr) {
    const char* const between = text.find(':') == std::string::npos ? ": " : "; ";
    if (text.find(setting.names().back()) == std::string::npos) {
      text += between + names_text(setting);
    }
  }
  if (*setting.zero != '\0') text += fmt::format("; 0: {}", setting.zero);
  if (setting.standard != nullptr) text += fmt::format(" (default: {})", setting.standard_text);
  return text;
}

core::Precision standard_precision(const core::DeviceInfo& device) {
  const bool tensor_cores = device.kind == core::DeviceKind::cuda && device.compute_capability >= 80;
  return tensor_cores ? core::Precision::bf16 : core::Precision::fp32;
}

float standard_clip_norm(core::Precision precision) {
  return precision == core::Precision::fp16 ? 1.0f : 0.0f;
}

}  // namespace warpscope::training
