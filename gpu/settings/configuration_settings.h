#pragma once
// The list of all settings: what reads, writes, merges, checks or documents them goes through it, so that each stands
// once.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "gpu/settings/configuration.h"

namespace warpscope::training {

/// What a number may be: from `least` to `most`, without the ends that are `open`. What may be infinitely large is still
/// finite.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool open_most = false;
};

struct Setting {
  const char* table = "";                       ///< in TOML
  const char* key = "";                         ///< in TOML
  const char* name = "";                        ///< in run.json; on the command line too, but for a few
  const char* meaning = "";                     ///< with unit and valid names
  Range range = {};                             ///< of numbers
  void (*check)(const std::string&) = nullptr;  ///< of texts: throws core::BadInput
  const char* otherwise = "";                   ///< what an unset one depends on; "" if its default is fixed

  constexpr Setting in(Range valid) const {
    Setting changed = *this;
    changed.range = valid;
    return changed;
  }
  constexpr Setting checked_by(void (*valid)(const std::string&)) const {
    Setting changed = *this;
    changed.check = valid;
    return changed;
  }
  constexpr Setting or_else(const char* what) const {
    Setting changed = *this;
    changed.otherwise = what;
    return changed;
  }
};

/// A value as it was read, before it is known to fit.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// Sets `to`, or returns the rest of a sentence that begins with the setting's name: " takes a whole number, not 4.5".
std::string assign(const Setting& setting, const Value& value, std::optional<bool>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<int>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<std::int64_t>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<std::uint64_t>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<float>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<double>& to);
std::string assign(const Setting& setting, const Value& value, std::optional<std::string>& to);

/// What stands on a command line: a number if all of `text` reads as one, else the text.
Value parse_whole(const std::string& text);
Value parse_real(const std::string& text);

/// The shortest digits that read back as the same number, with a point or an exponent: "0.1", "1.0", "1e-08".
std::string decimal(float value);
std::string decimal(double value);

/// The meaning, and in parentheses what an unset one depends on.
std::string describe(const Setting& setting);

/// Throw core::BadInput for a name that is not valid.
void check_model_name(const std::string& name);
void check_precision(const std::string& name);
void check_optimizer(const std::string& name);
void check_update(const std::string& name);
void check_time(const std::string& text);
void check_schedule(const std::string& text);
void check_on_divergence(const std::string& name);

inline constexpr Range kCount = {.least = 0, .most = 9223372036854775807.0};  ///< of TOML's integers
inline constexpr Range kSmallCount = {.least = 0, .most = 2147483647.0};
inline constexpr Range kFromOne = {.least = 1, .most = 2147483647.0};
inline constexpr Range kBelowOne = {.least = 0, .most = 1, .open_most = true};

/// visit_settings() for [model] and [data] alone; so too the others.
template <class Visitor, class... C>
void visit_model_and_data(const Visitor& visit, C&... c) {
  visit(Setting{"model", "name", "model", "network"}.checked_by(check_model_name), c.model.name...);
  visit(Setting{"model", "init", "init", "initial weights (safetensors, PyTorch layout)"}, c.model.init...);
  visit(Setting{"data", "source", "data_source", "training images: builtin, cifar10, mnist or a folder"}
            .or_else("$WARPSCOPE_DATA or the cache, else builtin"),
        c.data.source...);
  visit(
      Setting{"data", "validation", "validation", "share of the training images held out"}.in({.most = 0.9}),
      c.data.validation...);
  visit(Setting{"data", "shuffle", "shuffle", "a fresh order of the images in each epoch"},
        c.data.shuffle...);
  visit(Setting{"data", "seed", "seed", "seed of weights and order"}.in(kCount), c.data.seed...);
  visit(Setting{"data", "test_images", "test_images", "images of a test; 0: all, 256 on the CPU"}.in(kCount),
        c.data.test_images...);
}

template <class Visitor, class... C>
void visit_device(const Visitor& visit, C&... c) {
  visit(Setting{"device", "name", "device", "where to train: auto, cpu or cuda:N"}, c.device.name...);
  visit(Setting{"device", "precision", "precision", "arithmetic: fp32, tf32, fp16 or bf16"}.checked_by(
            check_precision),
        c.device.precision...);
  visit(Setting{"device", "select", "select",
                "variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores; those of layers end "
                "the blocks around them"},
        c.device.select...);
}

template <class Visitor, class... C>
void visit_optimizer(const Visitor& visit, C&... c) {
  constexpr const char* kOwn = "the optimizer's own";
  visit(
      Setting{"optimizer", "name", "optimizer", "rule: sgd, momentum, nesterov, adam, adamw, rmsprop or lion"}
          .checked_by(check_optimizer),
      c.optimizer.name...);
  visit(Setting{"optimizer", "learning_rate", "learning_rate", "learning rate"}.or_else(kOwn),
        c.optimizer.learning_rate...);
  visit(Setting{"optimizer", "momentum", "momentum", "decay of the velocity, for momentum and nesterov"}.in(
            kBelowOne),
        c.optimizer.momentum...);
  visit(Setting{"optimizer", "beta1", "beta1", "decay of the first moment, for adam, adamw and lion"}.in(
            kBelowOne),
        c.optimizer.beta1...);
  visit(Setting{"optimizer", "beta2", "beta2", "decay of the second moment, for adam, adamw and lion"}
            .in(kBelowOne)
            .or_else(kOwn),
        c.optimizer.beta2...);
  visit(Setting{"optimizer", "alpha", "alpha", "decay of the mean square, for rmsprop"}.in(kBelowOne),
        c.optimizer.alpha...);
  visit(Setting{"optimizer", "epsilon", "epsilon", "added to the root, for adam, adamw and rmsprop"},
        c.optimizer.epsilon...);
  visit(
      Setting{"optimizer", "weight_decay", "weight_decay", "L2 in the gradient; decoupled in adamw and lion"}
          .or_else(kOwn),
      c.optimizer.weight_decay...);
  visit(Setting{"optimizer", "clip_norm", "clip_norm", "largest global norm of the gradient; 0: any"}.or_else(
            "1 in fp16, else 0"),
        c.optimizer.clip_norm...);
  visit(Setting{"optimizer", "clip_value", "clip_value", "largest magnitude in the gradient; 0: any"},
        c.optimizer.clip_value...);
  visit(Setting{"optimizer", "batch", "batch", "images of a batch, or of each micro-batch"}.in(kFromOne),
        c.optimizer.batch...);
  visit(Setting{"optimizer", "accumulate", "accumulate", "micro-batches of a step"}.in(kFromOne),
        c.optimizer.accumulate...);
  visit(Setting{"optimizer", "update", "update",
                "scheme: batch, or per_sample, historic and faulty, to watch it fail"}
            .checked_by(check_update),
        c.optimizer.update...);
  visit(Setting{"schedule", "text", "schedule", "schedule of the learning rate, such as cosine:warmup=1"}
            .checked_by(check_schedule),
        c.schedule.text...);
}

template <class Visitor, class... C>
void visit_stop(const Visitor& visit, C&... c) {
  visit(Setting{"stop", "epochs", "epochs", "passes over the training images; 0: no limit"}.in(kCount),
        c.stop.epochs...);
  visit(Setting{"stop", "steps", "steps", "training steps; 0: no limit"}.in(kCount), c.stop.steps...);
  visit(Setting{"stop", "early_stop", "early_stop", "evaluations without a better loss; 0: off"}.in(
            kSmallCount),
        c.stop.early_stop...);
  visit(Setting{"stop", "target_loss", "target_loss", "evaluated loss to stop at; 0: none"},
        c.stop.target_loss...);
  visit(Setting{"stop", "time", "time", "time budget, such as 90s, 15m or 1h30m"}.checked_by(check_time),
        c.stop.time...);
  visit(Setting{"stop", "zscore", "zscore", "loss this many standard deviations up is divergence; 0: off"},
        c.stop.zscore...);
  visit(Setting{"stop", "on_divergence", "on_divergence",
                "reaction: pause or fail; without a window it always fails"}
            .checked_by(check_on_divergence),
        c.stop.on_divergence...);
}

template <class Visitor, class... C>
void visit_run(const Visitor& visit, C&... c) {
  visit(Setting{"checkpoints", "every_epochs", "checkpoint_every",
                "epochs between checkpoints; 0: only at the end"}
            .in(kSmallCount),
        c.checkpoints.every_epochs...);
  visit(Setting{"checkpoints", "keep", "keep", "newest checkpoints kept, beside the best"}.in(kFromOne),
        c.checkpoints.keep...);
  visit(Setting{"run", "folder", "run_dir", "folder to record the run in"}, c.run.folder...);
  visit(Setting{"run", "save", "save", "file for the weights at the end (safetensors)"}, c.run.save...);
}

/// Calls visit(setting, member of each of `c`...) for each setting, in the order of the file.
template <class Visitor, class... C>
void visit_settings(const Visitor& visit, C&... c) {
  visit_model_and_data(visit, c...);
  visit_device(visit, c...);
  visit_optimizer(visit, c...);
  visit_stop(visit, c...);
  visit_run(visit, c...);
}

}  // namespace warpscope::training
