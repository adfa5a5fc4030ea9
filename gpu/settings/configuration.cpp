#include "gpu/settings/configuration.h"

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/types.h"
#include "gpu/models/model.h"
#include "gpu/ops/op.h"
#include "gpu/settings/configuration_settings.h"
#include "gpu/settings/optimizer_settings.h"
#include "gpu/settings/schedule.h"
#include "gpu/settings/stability.h"

namespace warpscope::training {
namespace {

/// The type and value of what was given where something else belongs.
std::string shown(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return decimal(*real);
  return fmt::format("'{}'", std::get<std::string>(value));
}

std::string wrong_type(const char* right, const Value& value) {
  return fmt::format(" takes {}, not {}", right, shown(value));
}

/// "" if it is in `range`; NaN is in none.
std::string range_objection(const Range& range, double value, const std::string& text) {
  if (value >= range.least && (range.open_most ? value < range.most : value <= range.most)) return "";
  if (value < range.least || std::isinf(range.most)) {
    return fmt::format(" must be {:g} or more, not {}", range.least, text);
  }
  return fmt::format(" must be {} {:.10g}, not {}", range.open_most ? "less than" : "at most", range.most,
                     text);
}

std::int64_t most_whole(const Range& range) {
  const bool any = range.most >= kCount.most;  // as a double it is one too large
  return any ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(range.most);
}

/// A whole number that no integer holds comes as text.
bool is_huge(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr && text->size() > std::numeric_limits<std::int64_t>::digits10 &&
         text->find_first_not_of("0123456789") == std::string::npos;
}

template <class T>
bool read_all(const std::string& text, T& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ptr == end && read.ec == std::errc();
}

template <class T>
std::string assign_whole(const Setting& setting, const Value& value, std::optional<T>& to) {
  const auto* const whole = std::get_if<std::int64_t>(&value);
  if (is_huge(value)) {
    return fmt::format(" must be at most {}, not {}", most_whole(setting.range),
                       std::get<std::string>(value));
  }
  if (whole == nullptr) return wrong_type("a whole number", value);
  std::string objection = range_objection(setting.range, static_cast<double>(*whole), shown(value));
  if (objection.empty()) to = static_cast<T>(*whole);
  return objection;
}

template <class T>
std::string assign_real(const Setting& setting, const Value& value, std::optional<T>& to) {
  double real = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    real = static_cast<double>(*whole);
  } else if (std::holds_alternative<double>(value)) {
    real = std::get<double>(value);
  } else {
    return wrong_type("a number", value);
  }
  std::string objection = range_objection(setting.range, real, shown(value));
  if (!objection.empty()) return objection;
  if (real > static_cast<double>(std::numeric_limits<T>::max())) {
    return fmt::format(" must be at most {:g}, not {}", std::numeric_limits<T>::max(), shown(value));
  }
  to = static_cast<T>(real);
  return "";
}

template <class T>
std::string decimal_of(T value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

void check_one_of(const char* what, const std::string& name, std::string_view first,
                  std::string_view second) {
  if (name == first || name == second) return;
  throw core::BadInput(fmt::format("unknown {} '{}'; valid: {}, {}", what, name, first, second));
}

}  // namespace

std::string decimal(float value) {
  return decimal_of(value);
}

std::string decimal(double value) {
  return decimal_of(value);
}

std::string assign(const Setting&, const Value& value, std::optional<bool>& to) {
  const auto* const truth = std::get_if<bool>(&value);
  if (truth == nullptr) return wrong_type("true or false", value);
  to = *truth;
  return "";
}

std::string assign(const Setting& setting, const Value& value, std::optional<int>& to) {
  return assign_whole(setting, value, to);
}

std::string assign(const Setting& setting, const Value& value, std::optional<std::int64_t>& to) {
  return assign_whole(setting, value, to);
}

std::string assign(const Setting& setting, const Value& value, std::optional<std::uint64_t>& to) {
  return assign_whole(setting, value, to);
}

std::string assign(const Setting& setting, const Value& value, std::optional<float>& to) {
  return assign_real(setting, value, to);
}

std::string assign(const Setting& setting, const Value& value, std::optional<double>& to) {
  return assign_real(setting, value, to);
}

std::string assign(const Setting& setting, const Value& value, std::optional<std::string>& to) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr) return wrong_type("text", value);
  if (text->find('\0') != std::string::npos) return " must not hold a null character";
  if (setting.check != nullptr) {
    try {
      setting.check(*text);
    } catch (const core::BadInput& error) {
      return fmt::format(": {}", error.what());
    }
  }
  to = *text;
  return "";
}

Value parse_whole(const std::string& text) {
  std::int64_t whole = 0;
  return read_all(text, whole) ? Value(whole) : Value(text);
}

Value parse_real(const std::string& text) {
  double real = 0;
  return read_all(text, real) ? Value(real) : Value(text);
}

void check_model_name(const std::string& name) {
  models::find_model(name);
}

void check_precision(const std::string& name) {
  core::parse_precision(name);
}

void check_optimizer(const std::string& name) {
  ops::parse_update_rule(name);
}

void check_update(const std::string& name) {
  check_one_of("update", name, "batch", "per_sample");
}

void check_time(const std::string& text) {
  if (!text.empty()) parse_time_span(text);
}

void check_schedule(const std::string& text) {
  parse_schedule(text);
}

void check_on_divergence(const std::string& name) {
  check_one_of("reaction to divergence", name, "pause", "fail");
}

std::string describe(const Setting& setting) {
  const std::string_view otherwise = setting.otherwise;
  return otherwise.empty() ? setting.meaning : fmt::format("{} (default: {})", setting.meaning, otherwise);
}

Configuration defaults() {
  Configuration c;
  c.model = {.name = "autoencoder", .init = ""};
  c.data = {.source = "", .validation = 0.0, .shuffle = true, .seed = 1, .test_images = 0};
  c.device = {.name = "auto", .precision = "fp32", .select = ""};
  c.optimizer.name = "sgd";
  c.optimizer.momentum = 0.9f;
  c.optimizer.beta1 = 0.9f;
  c.optimizer.alpha = 0.99f;
  c.optimizer.epsilon = 1e-8f;
  c.optimizer.clip_value = 0.0f;
  c.optimizer.batch = 64;
  c.optimizer.accumulate = 1;
  c.optimizer.update = "batch";
  c.schedule.text = "constant";
  c.stop.epochs = 0;
  c.stop.steps = 0;
  c.stop.early_stop = 0;
  c.stop.target_loss = 0.0f;
  c.stop.time = "";
  c.stop.zscore = 0.0f;
  c.stop.on_divergence = "pause";
  c.checkpoints = {.every_epochs = 1, .keep = 3};
  c.run = {.folder = "", .save = ""};
  return c;
}

Configuration merge(const Configuration& base, const Configuration& over) {
  Configuration merged = base;
  visit_settings(
      [](const Setting&, auto& to, const auto& from) {
        if (from) to = from;
      },
      merged, over);
  return merged;
}

Configuration resolve(const Configuration& given) {
  Configuration c;
  const Configuration known = merge(defaults(), given);
  const OptimizerSettings optimizer = defaults_of(ops::parse_update_rule(*known.optimizer.name));
  c.optimizer.learning_rate = optimizer.learning_rate;
  c.optimizer.beta2 = optimizer.beta2;
  c.optimizer.weight_decay = optimizer.weight_decay;
  const bool fp16 = core::parse_precision(*known.device.precision) == core::Precision::fp16;
  c.optimizer.clip_norm = fp16 ? 1.0f : 0.0f;
  return merge(c, known);
}

}  // namespace warpscope::training
