#include "gpu/settings/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

constexpr double kMostEpochs = 1e9;
constexpr double kMostDivisor = 1e12;

/// The parameter of kinds that begin with a warm-up.
constexpr ScheduleParameter warm_up_parameter(double slider_high, bool left_out_at_zero) {
  return {.key = "warmup",
          .label = "warm-up",
          .unit = "epochs",
          .meaning = "epochs in which the rate rises to its full height",
          .value = &Schedule::warmup,
          .most = kMostEpochs,
          .left_out_at_zero = left_out_at_zero,
          .slider_high = slider_high};
}

constexpr std::array kConstantParameters{warm_up_parameter(1, true)};

constexpr std::array kStepParameters{
    ScheduleParameter{.key = "every",
                      .label = "every",
                      .unit = "epochs",
                      .meaning = "epochs between drops",
                      .value = &Schedule::every,
                      .most = kMostEpochs,
                      .above_least = true,
                      .slider_low = 1,
                      .slider_high = 50},
    ScheduleParameter{.key = "factor",
                      .label = "factor",
                      .meaning = "what each drop multiplies the rate by",
                      .value = &Schedule::step_factor,
                      .above_least = true,
                      .logarithmic = true,
                      .slider_low = 0.01,
                      .slider_high = 1},
};

constexpr std::array kCosineParameters{
    warm_up_parameter(10, false),
    ScheduleParameter{
        .key = "final",
        .label = "final share",
        .meaning = "the rate at the end, which lies behind the last step, as a share of the base rate",
        .value = &Schedule::final_fraction,
        .slider_high = 1},
};

constexpr std::array kOneCycleParameters{
    ScheduleParameter{.key = "peak",
                      .label = "peak at",
                      .unit = "of the run",
                      .meaning = "share of the run at which the rate is highest",
                      .value = &Schedule::peak,
                      .slider_high = 1},
    ScheduleParameter{.key = "start",
                      .label = "start divisor",
                      .meaning = "base rate over first rate",
                      .value = &Schedule::start_divisor,
                      .least = 1,
                      .most = kMostDivisor,
                      .logarithmic = true,
                      .slider_low = 1,
                      .slider_high = 1000},
    ScheduleParameter{.key = "final",
                      .label = "final divisor",
                      .meaning = "first rate over the rate at the end, which lies behind the last step",
                      .value = &Schedule::final_divisor,
                      .least = 1,
                      .most = kMostDivisor,
                      .logarithmic = true,
                      .slider_low = 1,
                      .slider_high = 1e6},
};

constexpr std::array kPlateauParameters{
    ScheduleParameter{.key = "factor",
                      .label = "factor",
                      .meaning = "what each reduction multiplies the rate by",
                      .value = &Schedule::plateau_factor,
                      .above_least = true,
                      .below_most = true,
                      .slider_low = 0.1,
                      .slider_high = 0.9},
    ScheduleParameter{.key = "patience",
                      .label = "patience",
                      .unit = "epochs",
                      .meaning = "epochs without improvement that are borne",
                      .value = &Schedule::patience,
                      .most = 1'000'000,
                      .whole = true,
                      .slider_high = 20},
    ScheduleParameter{.key = "least",
                      .label = "least rate",
                      .meaning = "the rate is not reduced below this",
                      .value = &Schedule::least_rate,
                      .most = 1e6,
                      .logarithmic = true,
                      .slider_low = 1e-8,
                      .slider_high = 1},
    ScheduleParameter{.key = "threshold",
                      .label = "threshold",
                      .meaning = "share of the best loss that an improvement must exceed",
                      .value = &Schedule::threshold,
                      .below_most = true,
                      .logarithmic = true,
                      .slider_low = 1e-6,
                      .slider_high = 0.1},
};

std::string keys_of(ScheduleKind kind) {
  std::string keys;
  for (const ScheduleParameter& parameter : parameters_of(kind)) {
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", parameter.key);
  }
  return keys;
}

[[noreturn]] void refuse(ScheduleKind kind, const ScheduleParameter& parameter, std::string_view value) {
  throw core::BadInput(fmt::format("{}={} of the schedule {} is not valid; valid: {}", parameter.key, value,
                                   to_string(kind), range_of(parameter)));
}

bool in_range(const ScheduleParameter& parameter, double value) {
  return std::isfinite(value) && value >= parameter.least && value <= parameter.most &&
         (!parameter.above_least || value > parameter.least) &&
         (!parameter.below_most || value < parameter.most) &&
         (!parameter.whole || value == std::floor(value));
}

/// Reads "every=10" into `schedule`.
void read_parameter(Schedule& schedule, std::string_view item) {
  const std::size_t equals = std::min(item.find('='), item.size());
  const std::string_view key = item.substr(0, equals);
  for (const ScheduleParameter& parameter : parameters_of(schedule.kind)) {
    if (key != parameter.key) continue;
    const std::string_view text = item.substr(std::min(equals + 1, item.size()));
    const std::optional<double> value = parse_number(text);
    if (!value.has_value()) refuse(schedule.kind, parameter, text);
    schedule.*parameter.value = *value;
    return;
  }
  throw core::BadInput(fmt::format("the schedule {} has no parameter '{}'; valid: {}",
                                   to_string(schedule.kind), key, keys_of(schedule.kind)));
}

/// From `from` at share 0 to `to` at share 1 along half a cosine.
double anneal(double from, double to, double share) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

/// The rate within the warm-up.
double warm_up_rate(const Schedule& s, double base, double epoch) {
  return base * (kWarmUpStart + (1 - kWarmUpStart) * epoch / s.warmup);
}

double cosine_rate(const Schedule& s, double base, double epoch, double total) {
  if (epoch < s.warmup) return warm_up_rate(s, base, epoch);
  return anneal(base, base * s.final_fraction, std::min(1.0, (epoch - s.warmup) / (total - s.warmup)));
}

double one_cycle_rate(const Schedule& s, double base, double epoch, double total) {
  const double share = std::min(1.0, epoch / total);
  const double first = base / s.start_divisor;
  if (share < s.peak) return anneal(first, base, share / s.peak);
  return s.peak < 1 ? anneal(base, first / s.final_divisor, (share - s.peak) / (1 - s.peak)) : base;
}

}  // namespace

std::span<const ScheduleParameter> parameters_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant:
      return kConstantParameters;
    case ScheduleKind::step:
      return kStepParameters;
    case ScheduleKind::cosine:
      return kCosineParameters;
    case ScheduleKind::one_cycle:
      return kOneCycleParameters;
    case ScheduleKind::plateau:
      return kPlateauParameters;
  }
  throw std::logic_error("unknown kind of schedule");
}

std::string range_of(const ScheduleParameter& parameter) {
  return fmt::format("{} {} {} {} {}", parameter.whole ? "a whole number" : "a number",
                     parameter.above_least ? "above" : "from", parameter.least,
                     parameter.below_most ? "to below" : "to", parameter.most);
}

std::string_view to_string(ScheduleKind kind) {
  constexpr std::array<std::string_view, kScheduleKindCount> kNames{"constant", "step", "cosine", "one_cycle",
                                                                    "plateau"};
  return kNames[static_cast<std::size_t>(kind)];
}

ScheduleKind parse_schedule_kind(std::string_view text) {
  std::string valid;
  for (int i = 0; i < kScheduleKindCount; ++i) {
    const auto kind = static_cast<ScheduleKind>(i);
    if (text == to_string(kind)) return kind;
    valid += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(kind));
  }
  throw core::BadInput(fmt::format("unknown schedule '{}'; valid: {}", text, valid));
}

Schedule parse_schedule(std::string_view text) {
  const std::size_t colon = text.find(':');
  Schedule schedule;
  schedule.kind = parse_schedule_kind(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    std::string_view rest = text.substr(colon + 1);
    std::set<std::string_view> keys;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = rest.substr(0, comma);
      read_parameter(schedule, item);
      const std::string_view key = item.substr(0, item.find('='));
      if (!keys.insert(key).second)
        throw core::BadInput(fmt::format("{} of the schedule {} stands there twice; give it once", key,
                                         to_string(schedule.kind)));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  check(schedule);
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  std::string text(to_string(schedule.kind));
  char separator = ':';
  for (const ScheduleParameter& parameter : parameters_of(schedule.kind)) {
    if (parameter.left_out_at_zero && schedule.*parameter.value == 0) continue;
    text += fmt::format("{}{}={}", separator, parameter.key, schedule.*parameter.value);
    separator = ',';
  }
  return text;
}

void check(const Schedule& schedule) {
  for (const ScheduleParameter& parameter : parameters_of(schedule.kind)) {
    const double value = schedule.*parameter.value;
    if (!in_range(parameter, value)) refuse(schedule.kind, parameter, fmt::format("{}", value));
  }
}

bool needs_length(ScheduleKind kind) {
  return kind == ScheduleKind::cosine || kind == ScheduleKind::one_cycle;
}

void check_length(const Schedule& schedule, double total_epochs) {
  if (!needs_length(schedule.kind)) return;
  if (!std::isfinite(total_epochs) || total_epochs <= 0) {
    throw core::BadInput(fmt::format(
        "the schedule {} needs the length of the run, and this run has no end; give its epochs or steps",
        to_string(schedule.kind)));
  }
  if (schedule.kind == ScheduleKind::cosine && schedule.warmup >= total_epochs) {
    throw core::BadInput(fmt::format(
        "the warm-up of the schedule cosine is {:g} epoch{}, but the run is {:g}; valid: a warm-up "
        "shorter than the run",
        schedule.warmup, schedule.warmup == 1 ? "" : "s", total_epochs));
  }
}

double rate_at(const Schedule& schedule, double base_rate, double epoch, double total_epochs) {
  check_length(schedule, total_epochs);
  const double from_start = std::max(0.0, epoch);
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return from_start < schedule.warmup ? warm_up_rate(schedule, base_rate, from_start) : base_rate;
    case ScheduleKind::plateau:
      return base_rate;
    case ScheduleKind::step:
      return base_rate * std::pow(schedule.step_factor, std::floor(from_start / schedule.every + 1e-9));
    case ScheduleKind::cosine:
      return cosine_rate(schedule, base_rate, from_start, total_epochs);
    case ScheduleKind::one_cycle:
      return one_cycle_rate(schedule, base_rate, from_start, total_epochs);
  }
  throw std::logic_error("unknown kind of schedule");
}

PlateauState observe(const Schedule& schedule, PlateauState state, double base_rate, double loss) {
  const bool better =
      std::isfinite(loss) && (!state.best.has_value() || loss < *state.best * (1 - schedule.threshold));
  if (better) {
    state.best = loss;
    state.bad_epochs = 0;
    return state;
  }
  if (++state.bad_epochs <= static_cast<int>(schedule.patience)) return state;
  state.bad_epochs = 0;
  if (rate_at(schedule, state, base_rate) > schedule.least_rate) state.scale *= schedule.plateau_factor;
  return state;
}

double rate_at(const Schedule& schedule, const PlateauState& state, double base_rate) {
  return std::min(base_rate, std::max(base_rate * state.scale, schedule.least_rate));
}

void to_json(nlohmann::json& json, const PlateauState& state) {
  json = {{"best", nullptr}, {"bad_epochs", state.bad_epochs}, {"scale", state.scale}};
  if (state.best.has_value()) json["best"] = *state.best;
}

void from_json(const nlohmann::json& json, PlateauState& state) {
  constexpr const char* kWhere = "the state of the schedule plateau";
  PlateauState read;
  read.best = optional_number_field(json, "best", kWhere);
  read.bad_epochs =
      static_cast<int>(count_field(json, "bad_epochs", kWhere, std::numeric_limits<int>::max() - 1));
  read.scale = number_field(json, "scale", kWhere, 0, 1);
  state = read;
}

std::vector<SchedulePoint> preview(const Schedule& schedule, double base_rate, double total_epochs,
                                   int points) {
  check(schedule);
  check_length(schedule, total_epochs);
  if (!std::isfinite(total_epochs) || total_epochs <= 0) {
    throw core::BadInput(
        fmt::format("a preview over {:g} epochs is not possible; valid: a number above 0", total_epochs));
  }
  const int last = std::max(points, 2) - 1;
  std::vector<SchedulePoint> curve;
  for (int i = 0; i <= last; ++i) {
    const double epoch = total_epochs * i / last;
    curve.push_back({epoch, rate_at(schedule, base_rate, epoch, total_epochs)});
  }
  return curve;
}

}  // namespace warpscope::training
