#pragma once
// Counts the numbers of a network: its weights, their gradients and updates, and what its layers make of a batch of
// held-out images. The device counts; what comes to the host are histograms and sums.

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/distributions.h"
#include "gpu/plan/plan.h"
#include "gpu/statistics/count_values.h"
#include "gpu/statistics/live_units.h"

namespace warpscope::training {

struct CountedMoment {
  std::shared_ptr<const DistributionMoment> moment;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  int images = 0;                ///< that the activations are of
};

class DistributionPass {
 public:
  /// For the scene's model and selection. The activations are those of the first inspected_at_once() test images.
  /// Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  explicit DistributionPass(const Scene& scene);

  bool fits(const Scene& scene) const { return selection_ == scene.selection; }
  /// A look takes two calls with steps between them. The first copies the weights on the device; after the second, which
  /// returns true, enqueue() counts them and what they have changed by since. Before the first look a training that
  /// stands still is looked at without updates. Not while a look is under way.
  bool prepare(const Scene& scene);
  void enqueue(const Scene& scene);
  /// What has been counted, with the generation that it is of.
  CountedMoment made() const;

 private:
  /// What a result is of.
  struct Slot {
    std::size_t layer = 0;
    Quantity quantity{};
  };
  /// What goes to the device before a look.
  struct Inputs {
    ops::step::StepControl control;
    float update_steps = 1;
  };
  void add_activations(const models::Model& model);
  void add_parameters(const Scene& scene);
  void add_part(std::size_t layer, Quantity quantity, const statistics::CountedTensor& tensor);
  std::uint32_t slot_of(std::size_t layer, Quantity quantity);
  void make_buffers(const Scene& scene);
  void enqueue_counting();
  void remember(const Scene& scene);
  DeadUnits dead_units(std::size_t index) const;

  plan::Selection selection_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  core::Buffer inputs_, before_;  ///< `before_`: the weights of remember()
  std::unique_ptr<plan::Plan> plan_;
  std::vector<Slot> slots_;
  std::vector<statistics::CountedTensor> tensors_;
  std::vector<statistics::UnitTensor> unit_tensors_;
  std::vector<std::size_t> unit_layers_;  ///< the layer of each
  std::int64_t chunks_ = 0;
  statistics::UnitLayout units_;

  core::Buffer tables_, results_;  ///< results_: counters, sums, live units and channels, one after the other
  core::HostBuffer tables_staging_, inputs_staging_, results_arrived_;
  std::size_t sums_offset_ = 0, live_units_offset_ = 0, live_channels_offset_ = 0, unit_table_offset_ = 0;
  std::unique_ptr<core::Graph> counting_;

  bool remembers_ = false;  ///< remember() was called since the last look
  std::uint64_t remembered_step_ = 0, remembered_generation_ = 0;
  bool has_looked_ = false;
  std::uint64_t step_ = 0, update_steps_ = 0, generation_ = 0;
};

}  // namespace warpscope::training
