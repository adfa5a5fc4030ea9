#include "gpu/settings/stability.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/require.h"
#include "gpu/files/file.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kSlowWeight = 0.005;

struct TimeUnit {
  char name;
  double seconds;
};
constexpr std::array kTimeUnits{TimeUnit{'h', 3600}, TimeUnit{'m', 60}, TimeUnit{'s', 1}};

[[noreturn]] void refuse_time_span(std::string_view text) {
  throw core::BadInput(
      fmt::format("'{}' is not a time span; valid: seconds such as 90 or 90s, or 15m, 2h, 1h30m", text));
}

/// `bits` of the last `count` losses, the newest lowest, with one more.
std::uint32_t with_newest(std::uint32_t bits, bool newest, int count) {
  return ((bits << 1) | (newest ? 1u : 0u)) & ((1u << count) - 1);
}

}  // namespace

void check(const SpikeSettings& settings) {
  core::require(std::isfinite(settings.threshold) && settings.threshold >= 0,
                "a loss spike threshold of {} standard deviations is not valid; valid: a number above 0, "
                "or 0 for none",
                settings.threshold);
  core::require(std::isfinite(settings.leap) && settings.leap >= 0,
                "a loss leap of {} times is not valid; valid: a number above 0, or 0 for none",
                settings.leap);
  core::require(settings.decay >= 0 && settings.decay < 1,
                "a decay of {} of the loss statistics is not valid; valid: from 0 to below 1",
                settings.decay);
}

void watch_for_forgetting(SpikeState& state) {
  state.watched = kWatchedAfterChange;
}

void restart(SpikeState& state) {
  state = {.watched = state.watched};
}

Verdict observe(const SpikeSettings& settings, SpikeState& state, double loss, bool skipped) {
  if (!std::isfinite(loss)) return {Stability::not_finite, 0, state.mean};
  Verdict verdict{Stability::fine, 0, state.mean};
  if (skipped) return verdict;
  double taken = loss;
  if (settings.threshold > 0 && state.count > 0 && state.count >= settings.warm_up) {
    const double deviation = std::max({std::sqrt(state.variance), kLeastDeviation * std::abs(state.mean),
                                       std::numeric_limits<double>::min()});
    verdict.z = (loss - state.mean) / deviation;
    if (verdict.z > settings.threshold) {
      verdict.stability = Stability::spike;
      taken = state.mean + settings.threshold * deviation;
    }
  }
  if (state.count == 0) state.first = loss;
  const double nothing = std::max(state.first, settings.guessing);
  verdict.bound = settings.leap * nothing;
  const bool watched = verdict.bound > 0;
  state.leaps = with_newest(state.leaps, watched && loss > verdict.bound, kWatched);
  const bool learned = state.count > 0 && 2 * state.level < nothing;
  const bool high = loss > std::max(nothing / 2, 2 * state.level);
  state.forgotten =
      with_newest(state.forgotten, watched && state.watched > 0 && learned && high, kWatchedLong);
  if (state.watched > 0) --state.watched;
  if (verdict.stability == Stability::fine) {
    if (std::popcount(state.leaps) >= kLeaping) {
      verdict.stability = Stability::leap;
    } else if (std::popcount(state.forgotten) >= kForgetting) {
      verdict.stability = Stability::forgotten;
      verdict.bound = nothing / 2;
    }
  }
  ++state.count;
  const double weight = std::max(1 - settings.decay, 1 / static_cast<double>(state.count));
  const double slow = std::max(kSlowWeight, 1 / static_cast<double>(state.count));
  state.level += slow * (std::min(loss, nothing) - state.level);
  const double off = taken - state.mean;
  state.mean += weight * off;
  state.variance = (1 - weight) * (state.variance + weight * off * off);
  return verdict;
}

std::string describe(const Verdict& verdict, std::uint64_t step, double loss) {
  const std::string number = files::grouped(step);
  switch (verdict.stability) {
    case Stability::fine:
      return "";
    case Stability::not_finite:
      // The sign of what is not a number says nothing.
      return fmt::format("the loss of step {} is not finite ({})", number,
                         std::isnan(loss) ? std::abs(loss) : loss);
    case Stability::spike:
      return fmt::format(
          "the loss of step {}, {:.4g}, is {:.1f} standard deviations above its mean of {:.4g}", number, loss,
          verdict.z, verdict.mean);
    case Stability::leap:
      return fmt::format(
          "the loss has leapt to {:.4g} at step {}: of the last {} steps at least {} were above {:.4g}, far "
          "beyond a "
          "network that has learned nothing",
          loss, number, kWatched, kLeaping, verdict.bound);
    case Stability::forgotten:
      return fmt::format(
          "the network has forgotten what it had learned: the loss of step {} is {:.4g}, and of the last {} "
          "steps at least {} were above {:.4g}, half the loss of a network that has learned nothing, and "
          "above "
          "twice the mean before them",
          number, loss, kWatchedLong, kForgetting, verdict.bound);
  }
  return "";
}

void to_json(nlohmann::json& json, const SpikeState& state) {
  json = {{"mean", state.mean},           {"variance", state.variance}, {"count", state.count},
          {"first", state.first},         {"leaps", state.leaps},       {"level", state.level},
          {"forgotten", state.forgotten}, {"watched", state.watched}};
}

void from_json(const nlohmann::json& json, SpikeState& state) {
  constexpr const char* kWhere = "the state of the spike monitor";
  SpikeState read;
  read.mean = number_field(json, "mean", kWhere, -kMost, kMost);
  read.variance = number_field(json, "variance", kWhere, 0, kMost);
  read.count = count_field(json, "count", kWhere, std::numeric_limits<std::uint64_t>::max() - 1);
  const auto bits = [&](const char* key, int count) {
    return static_cast<std::uint32_t>(count_field(json, key, kWhere, (1u << count) - 1));
  };
  read.first = number_field(json, "first", kWhere, -kMost, kMost);
  read.leaps = bits("leaps", kWatched);
  read.level = number_field(json, "level", kWhere, -kMost, kMost);
  read.forgotten = bits("forgotten", kWatchedLong);
  read.watched = count_field(json, "watched", kWhere, kWatchedAfterChange);
  state = read;
}

bool any(const StopRules& rules) {
  return rules.patience > 0 || rules.target_loss.has_value() || rules.seconds > 0 ||
         rules.target_accuracy > 0;
}

void check(const StopRules& rules) {
  core::require(
      rules.patience >= 0,
      "an early stop after {} evaluations is not valid; valid: a whole number from 1, or 0 for none",
      rules.patience);
  core::require(std::isfinite(rules.least_improvement) && rules.least_improvement >= 0,
                "a least improvement of the loss of {} is not valid; valid: a number from 0 up",
                rules.least_improvement);
  core::require(std::isfinite(rules.target_loss.value_or(0)),
                "a target loss of {} is not valid; valid: a finite number", rules.target_loss.value_or(0));
  core::require(std::isfinite(rules.seconds) && rules.seconds >= 0,
                "a time budget of {} seconds is not valid; valid: a number above 0, or 0 for none",
                rules.seconds);
  core::require(rules.target_accuracy >= 0 && rules.target_accuracy <= 1,
                "a target accuracy of {} is not valid; valid: a share of the images from 0 to 1, 0 for none",
                rules.target_accuracy);
}

std::string stop_after_evaluation(const StopRules& rules, StopState& state, double loss,
                                  std::string_view which) {
  const bool better =
      std::isfinite(loss) && (!state.best.has_value() || loss < *state.best - rules.least_improvement);
  if (better) state.best = loss;
  state.without = better ? 0 : state.without + 1;
  state.last = std::isfinite(loss) ? std::optional(loss) : std::nullopt;
  return stop_after_evaluations(rules, state, which);
}

std::string stop_after_evaluations(const StopRules& rules, const StopState& state, std::string_view which) {
  if (rules.target_loss.has_value() && state.last.has_value() && *state.last <= *rules.target_loss) {
    return fmt::format("the {} loss {:.6g} has reached its target of {:g}", which, *state.last,
                       *rules.target_loss);
  }
  if (std::string reached = stop_at_accuracy(rules, state.accuracy.value_or(0), which); !reached.empty())
    return reached;
  if (rules.patience > 0 && state.without >= rules.patience) {
    return fmt::format("the {} loss has not improved for {}", which,
                       files::counted(state.without, "evaluation"));
  }
  return "";
}

std::string stop_at_accuracy(const StopRules& rules, double accuracy, std::string_view which) {
  if (rules.target_accuracy <= 0 || !(accuracy >= rules.target_accuracy)) return "";
  return fmt::format("the {} accuracy {:.6g} has reached its target of {:g}", which, accuracy,
                     rules.target_accuracy);
}

std::string stop_after_time(const StopRules& rules, double seconds) {
  if (rules.seconds <= 0 || seconds < rules.seconds) return "";
  return fmt::format("the time budget of {} is used up", format_time_span(rules.seconds));
}

void to_json(nlohmann::json& json, const StopState& state) {
  json = {{"best", nullptr}, {"without", state.without}, {"last", nullptr}, {"accuracy", nullptr}};
  if (state.best.has_value()) json["best"] = *state.best;
  if (state.last.has_value()) json["last"] = *state.last;
  if (state.accuracy.has_value()) json["accuracy"] = *state.accuracy;
}

void from_json(const nlohmann::json& json, StopState& state) {
  constexpr const char* kWhere = "the state of the early stop";
  StopState read;
  read.best = optional_number_field(json, "best", kWhere);
  read.without = static_cast<int>(count_field(json, "without", kWhere, std::numeric_limits<int>::max() - 1));
  // Older ones have none of these.
  if (json.contains("last")) read.last = optional_number_field(json, "last", kWhere);
  if (json.contains("accuracy")) read.accuracy = optional_number_field(json, "accuracy", kWhere);
  state = read;
}

double parse_time_span(std::string_view text) {
  double seconds = 0;
  std::string_view rest = text;
  std::size_t next_unit = 0;  // each unit at most once, from large to small
  do {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const std::optional<double> number = parse_number(rest.substr(0, digits));
    if (!number.has_value()) refuse_time_span(text);
    const bool bare = digits == text.size();  // "1h30" would leave open of what
    const char unit = bare ? 's' : digits < rest.size() ? rest[digits] : ' ';
    while (next_unit < kTimeUnits.size() && kTimeUnits[next_unit].name != unit) ++next_unit;
    if (next_unit == kTimeUnits.size()) refuse_time_span(text);
    seconds += *number * kTimeUnits[next_unit++].seconds;
    rest.remove_prefix(std::min(digits + 1, rest.size()));
  } while (!rest.empty());
  if (!std::isfinite(seconds)) refuse_time_span(text);
  return seconds;
}

std::string format_time_span(double seconds) {
  const double rounded = std::round(seconds * 1000) / 1000;
  const double minutes = std::floor(rounded / 60);
  const double hours = std::floor(minutes / 60);
  const double left_minutes = minutes - 60 * hours;
  const double left_seconds = std::round((rounded - 60 * minutes) * 1000) / 1000;
  std::string text;
  if (hours > 0) text += fmt::format("{:.0f}h", hours);
  if (left_minutes > 0) text += fmt::format("{:.0f}m", left_minutes);
  if (left_seconds > 0 || text.empty()) text += fmt::format("{}s", left_seconds);
  return text;
}

}  // namespace warpscope::training
