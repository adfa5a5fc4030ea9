#pragma once
// Which table of variants the steps of a training were made by: kernels of users may have had other versions then.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

class VariantHistory {
 public:
  /// From `step` of `generation` on.
  void note(std::uint64_t generation, std::uint64_t step, ops::Variants variants);
  /// As long as these settings hold: what changes between two steps has settings before and after it.
  void note(std::shared_ptr<const TrainingSettings> settings, ops::Variants variants);
  /// Steps of `generation` follow `step` of `from`.
  void branch(std::uint64_t generation, std::uint64_t from, std::uint64_t step);
  /// By the settings, if they were noted, else by the step. nullptr: not known.
  ops::Variants at(const std::shared_ptr<const TrainingSettings>& settings, std::uint64_t generation,
                   std::uint64_t step) const;

 private:
  struct Entry {
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    ops::Variants variants;
  };
  struct Branch {
    std::uint64_t generation = 0;
    std::uint64_t from = 0;
    std::uint64_t step = 0;
  };
  std::vector<Entry> entries_;  ///< in the order in which they came
  std::vector<Branch> branches_;
  std::vector<std::pair<std::shared_ptr<const TrainingSettings>, ops::Variants>> by_settings_;
};

/// `now` with the versions that kernels of users had in `then`, where `selection` chooses them; `now` itself where
/// these are the same, or `then` is nullptr.
ops::Variants with_versions_of(const ops::Variants& then, const ops::Variants& now,
                               const plan::Selection& selection, core::DeviceKind device);

}  // namespace warpscope::training
