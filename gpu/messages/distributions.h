#pragma once
// How the numbers of a network are spread, layer by layer, and how that came about over the steps.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/messages/step_history.h"
#include "gpu/statistics/distribution.h"

namespace warpscope::training {

/// Whose numbers. Weights, gradients and updates are those of a layer's weights and bias together, as FP32 master
/// weights.
///
///   activations  the layer's output for the sampled held-out images, in the precision of the training
///   gradients    of the last step (with micro-batches: of its last one), before clipping and without the loss scale
///   updates      what the weights have changed by since the look before, divided by the steps since then
///                (DistributionMoment::update_steps, as a rule one)
enum class Quantity : std::uint8_t { weights, activations, gradients, updates };
inline constexpr std::size_t kQuantities = 4;
std::string_view name_of(Quantity quantity);

/// Those of a layer of ReLUs: a unit is one place of one channel. It is dead if it is 0 for every sampled image, a
/// channel if all of its units are.
struct DeadUnits {
  std::int64_t units = 0;
  std::int64_t dead_units = 0;
  std::int64_t channels = 0;
  std::int64_t dead_channels = 0;
};

/// How things were after a step. Layer 0 is the image, n the layer n - 1 of the model.
struct DistributionMoment {
  std::uint64_t step = 0;
  std::uint64_t update_steps = 0;  ///< steps that the updates were divided by; 0: there are none
  std::map<std::pair<std::size_t, Quantity>, statistics::Distribution> distributions;
  std::map<std::size_t, DeadUnits> dead;  ///< of ReLUs

  /// nullptr where there is none: weights of a ReLU, updates at the first look of a training that stands still.
  const statistics::Distribution* find(std::size_t layer, Quantity quantity) const;
  /// L2 norm of the update over that of the weights after it; nothing where there are no updates or the weights are 0.
  std::optional<double> update_ratio(std::size_t layer) const;
  /// What it takes in memory.
  std::size_t bytes() const;
};

/// A moment and how many held-out images its activations are of.
struct SeenDistribution {
  int images = 0;
  DistributionMoment moment;
};

/// What has been seen since somebody asked.
struct Distributions {
  std::uint64_t generation = 0;  ///< Snapshot::generation
  int images = 0;  ///< held-out images that the activations are of: the first of the test images
  std::vector<std::shared_ptr<const DistributionMoment>> moments;  ///< by step, the newest last
};

/// Moments at steps that lie evenly on a logarithm of the steps since the first, in bounded memory. The newest is
/// always there.
class DistributionHistory {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  explicit DistributionHistory(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  /// Adds a moment; what was seen at later steps, from which a training was rolled back, is dropped. One of another
  /// generation begins anew.
  void add(std::uint64_t generation, std::shared_ptr<const DistributionMoment> moment);
  /// By step, the newest last.
  std::vector<std::shared_ptr<const DistributionMoment>> moments() const;
  std::uint64_t generation() const { return generation_; }

 private:
  std::size_t most_bytes_;
  std::uint64_t generation_ = 0;
  StepHistory<std::shared_ptr<const DistributionMoment>> moments_;
};

}  // namespace warpscope::training
