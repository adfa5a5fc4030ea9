#pragma once
// Learning-rate schedules as plain data. With e the epochs done (a fraction inside an epoch, so that the rate
// follows every step), E the length of the run in epochs and `base` the learning rate that was chosen:
//
//   constant    e < warmup:  base (s + (1 - s) e / warmup), s = kWarmUpStart;  then: base
//   step        base factor^floor(e / every)
//   cosine      e < warmup:  as constant
//               then:        base (final + (1 - final) (1 + cos(pi (e - warmup) / (E - warmup))) / 2)
//   one_cycle   base is the rate at the peak; x = e / E
//               x < peak:    from base / start up to base along half a cosine
//               then:        from base down to base / (start final) along half a cosine
//   plateau     base scale, at least `least`: the loss of each epoch decides, see observe()
//
// After E, cosine and one_cycle stay at their last rate. These are torch.optim.lr_scheduler.StepLR, LinearLR
// followed by CosineAnnealingLR, OneCycleLR (two phases, anneal_strategy "cos", momentum not cycled) and
// ReduceLROnPlateau (relative threshold, eps 0), but continuous: torch's OneCycleLR of T steps with pct_start
// p is E = T - 1, peak = (p T - 1) / (T - 1).
//
// Sources: I. Loshchilov, F. Hutter, "SGDR: Stochastic gradient descent with warm restarts" (2017), cosine;
// P. Goyal et al., "Accurate, large minibatch SGD" (2017), warm-up; L. Smith, N. Topin, "Super-convergence"
// (2018), one_cycle.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::training {

enum class ScheduleKind : std::uint8_t { constant, step, cosine, one_cycle, plateau };

inline constexpr int kScheduleKindCount = static_cast<int>(ScheduleKind::plateau) + 1;

/// Where a warm-up begins, as a share of the base rate: at 0 the first step would change nothing.
inline constexpr double kWarmUpStart = 0.01;

/// A schedule and the parameters of all kinds, so that a window keeps those of a kind while another is
/// chosen.
struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double every = 10;            ///< step: epochs between drops
  double step_factor = 0.1;     ///< step: what each drop multiplies the rate by
  double warmup = 0;            ///< constant, cosine: epochs of linear warm-up
  double final_fraction = 0;    ///< cosine: the last rate as a share of the base rate
  double peak = 0.3;            ///< one_cycle: share of the run at which the rate is highest
  double start_divisor = 25;    ///< one_cycle: base rate over first rate
  double final_divisor = 1e4;   ///< one_cycle: first rate over last rate
  double plateau_factor = 0.5;  ///< plateau: what each reduction multiplies the rate by
  double patience = 3;          ///< plateau: whole epochs without improvement that are borne
  double least_rate = 0;        ///< plateau: the rate is not reduced below this
  double threshold = 1e-4;      ///< plateau: share of the best loss that an improvement must exceed

  bool operator==(const Schedule&) const = default;
};

/// One parameter of a kind, for parsing, printing and the window.
struct ScheduleParameter {
  const char* key;        ///< "warmup", as in the text form
  const char* label;      ///< "warm-up"
  const char* unit = "";  ///< "epochs"
  const char* meaning;    ///< what it does, without a point
  double Schedule::*value;
  double least = 0;  ///< valid values are from `least` to `most`
  double most = 1;
  bool above_least = false;       ///< `least` itself is not valid
  bool below_most = false;        ///< `most` itself is not valid
  bool whole = false;             ///< only whole numbers
  bool left_out_at_zero = false;  ///< of the text form
  bool logarithmic = false;       ///< of its slider
  double slider_low = 0;
  double slider_high = 0;
};

/// The parameters of `kind` in the order of the text form.
std::span<const ScheduleParameter> parameters_of(ScheduleKind kind);

/// "a number above 0 to 1".
std::string range_of(const ScheduleParameter& parameter);

std::string_view to_string(ScheduleKind kind);

/// Reads "one_cycle". Throws BadInput that lists the valid names.
ScheduleKind parse_schedule_kind(std::string_view text);

/// Reads "constant", "constant:warmup=0.01", "step:every=10,factor=0.1", "cosine:warmup=1,final=0.01",
/// "one_cycle:peak=0.3,start=25,final=1e4", "plateau:factor=0.5,patience=3,least=1e-5,threshold=1e-4";
/// parameters that are left out have their defaults. Throws BadInput that lists what is valid.
Schedule parse_schedule(std::string_view text);

/// The text form with all parameters of the kind but those left out at zero; parse_schedule reads it back to the same
/// numbers.
std::string to_string(const Schedule& schedule);

/// Throws BadInput that names the first parameter of schedule.kind out of its range, and the range.
void check(const Schedule& schedule);

/// The kind depends on the length of the run: cosine and one_cycle.
bool needs_length(ScheduleKind kind);

/// Throws BadInput if the kind needs the length of the run and `total_epochs` is not a finite number above 0
/// (above the warm-up for cosine).
void check_length(const Schedule& schedule, double total_epochs);

/// The learning rate after `epoch` epochs of a run of `total_epochs`, which only cosine and one_cycle look
/// at. Negative epochs count as 0. A drop of `step` that is less than 1e-9 drops ahead is taken, whatever
/// sums of fractions round to. For plateau this is base_rate, the rate before any reduction. Throws as
/// check_length does.
double rate_at(const Schedule& schedule, double base_rate, double epoch, double total_epochs);

/// What plateau remembers between epochs.
struct PlateauState {
  std::optional<double> best = std::nullopt;  ///< lowest loss so far; nothing before the first
  int bad_epochs = 0;                         ///< since the best one or the last reduction
  double scale = 1;                           ///< product of the reductions so far

  bool operator==(const PlateauState&) const = default;
};

/// `state` after one more epoch with this loss (of validation or test images, or the mean of training). The
/// loss improves if it is below best (1 - threshold); after more than `patience` epochs without that, the
/// scale falls by the factor, unless the rate is at least_rate already. A loss that is not finite is no
/// improvement. Losses are taken to be at least 0.
PlateauState observe(const Schedule& schedule, PlateauState state, double base_rate, double loss);

/// The learning rate of plateau: max(base_rate scale, least_rate), but never above base_rate.
double rate_at(const Schedule& schedule, const PlateauState& state, double base_rate);

/// For checkpoints. from_json throws BadInput that names the field and what is valid; `state` is then
/// unchanged.
void to_json(nlohmann::json& json, const PlateauState& state);
void from_json(const nlohmann::json& json, PlateauState& state);

struct SchedulePoint {
  double epoch = 0;
  double rate = 0;
};

/// The curve from epoch 0 to total_epochs, both included, at `points` (at least 2) evenly spaced epochs. That
/// of plateau is flat: its reductions depend on losses to come. Throws BadInput if total_epochs is not a
/// finite number above 0, and as check and check_length do.
std::vector<SchedulePoint> preview(const Schedule& schedule, double base_rate, double total_epochs,
                                   int points);

}  // namespace warpscope::training
