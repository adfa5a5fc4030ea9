#pragma once
// Everything that a person sets of a training, as the parts that use it take it. What a field is called in
// files and on the command line, its range and its help stand in its row of the table (setting.h); its
// default is the value it begins with here, unless the row says what it depends on.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/core/types.h"
#include "gpu/models/model.h"
#include "gpu/settings/augment_settings.h"
#include "gpu/settings/optimizer_settings.h"
#include "gpu/settings/schedule.h"
#include "gpu/settings/stability.h"

namespace warpscope::training {

/// Whether variants are measured where nobody says so: the one place that decides it.
inline constexpr bool kMeasuresByDefault = false;

/// What the engine needs to know of it.
struct EngineSettings {
  models::Model model = models::find_model("autoencoder");
  std::string init_file;     ///< safetensors with the initial weights; "" for He-normal from the seed
  bool init_partly = false;  ///< what init_file lacks, or has in another shape, is from the seed
  std::uint64_t seed = 1;
  bool shuffle = true;
  /// The same weights, bit for bit, whatever the number of ranks: sums go by fixed parts of each batch.
  bool deterministic = false;
  /// Batch norms normalize over the batch of all ranks, not over a rank's part.
  bool sync_batch_norm = false;
  /// Images of a launch; a step takes optimizer.accumulate times as many. 0: as suits the device.
  int batch = 0;
  std::int64_t test_images =
      0;  ///< test images of an evaluation; 0: all, on a CPU 256 if the network has convolutions
  bool test_mirrored = false;  ///< evaluations look at each image and its mirror image; of classifiers
  int test_shift = 0;          ///< and at each shifted by so many pixels to four corners; 0: not
  OptimizerSettings optimizer;
  AugmentSettings augment;  ///< only of training images

  bool operator==(const EngineSettings&) const = default;
};

/// What is chosen where nothing else is said: a constant rate, with the warm-up that the rule asks for.
inline Schedule schedule_of(ops::UpdateRule rule) {
  Schedule schedule;
  schedule.warmup = ops::row_of(rule).warmup;
  return schedule;
}

struct TrainingSettings : EngineSettings {
  std::string data;                          ///< "", "builtin", "cifar10" or a folder, as data::load takes it
  double validation = 0;                     ///< share of the training images that is kept back to steer by
  std::string device = "auto";               ///< as core::open_device takes it
  std::optional<core::Precision> precision;  ///< none: the fastest as good that the device has
  std::string select;                        ///< as plan::apply takes it, on top of the device's default
  bool measure = kMeasuresByDefault;         ///< which variants are the fastest, where nobody has chosen
  Schedule schedule = schedule_of(optimizer.rule);
  StopRules stop;                   ///< beside epochs and steps
  std::uint64_t test_every = 0;     ///< steps between evaluations; 0: by the images of one
  SpikeSettings spikes;             ///< of the loss, which count as divergence
  std::uint64_t epochs = 0;         ///< 0: no limit
  std::uint64_t steps = 0;          ///< 0: no limit; the smaller limit wins
  bool probe = false;               ///< judge the latents by a small classifier while it trains
  bool pause_on_divergence = true;  ///< a loss that is no number, or a spike, pauses instead of failing
  bool go_on_without_ranks =
      true;                     ///< that are missing, where they can be started anew; else the training fails
  double rank_timeout = 30;     ///< seconds after which a rank that stands still is missing; 0: never
  int checkpoint_epochs = 1;    ///< a checkpoint every so many epochs; 0: only at the end
  int keep_checkpoints = 3;     ///< beside the best one
  int moments_mib = 1024;       ///< of host memory for moments to go back to; 0: none are kept
  int moments_disk_mib = 2048;  ///< on the disk for those that memory has no room for; 0: none
  int keep_history_mib = 64;    ///< of host memory for what a window's views show at earlier steps
  std::string run_dir;          ///< run folder; "" writes no run
  bool record = true;           ///< a window records by itself where run_dir is ""
  std::string save_file;        ///< safetensors written at the end; "" for none

  bool operator==(const TrainingSettings&) const = default;
};

/// Those that begin where nobody has chosen any.
std::shared_ptr<const TrainingSettings> standard_settings();

/// Throws core::BadInput where batch norms cannot normalize over the whole batch.
void check_sync(const EngineSettings& settings);

/// Whether one rank makes the steps of several again, but for how sums are rounded. What dropout and augmentation draw,
/// and what layers keep themselves, as batch norms their means, is of each rank's own part of a batch.
bool can_be_made_by_one_rank(const EngineSettings& settings);

/// Throws core::BadInput that names the first value that is not valid, by itself or beside another.
void check(const TrainingSettings& settings);

}  // namespace warpscope::training
