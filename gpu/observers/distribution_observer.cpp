// Shows how the numbers of the network are spread, and keeps how that came about. The device counts; what
// comes to the host are histograms and sums.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/engine/scene.h"
#include "gpu/messages/distributions.h"
#include "gpu/observers/held_out_batches.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"
#include "gpu/plan/plan.h"
#include "gpu/statistics/count_values.h"
#include "gpu/statistics/live_units.h"

namespace warpscope::training {
namespace {

using statistics::ChunkSums;
using statistics::CountedTensor;
using statistics::UnitTensor;

struct CountedMoment {
  std::shared_ptr<const DistributionMoment> moment;
  std::uint64_t generation = 0;  ///< Snapshot::generation
  int images = 0;                ///< that the activations are of
};

class DistributionPass {
 public:
  /// For the scene's model and selection. The activations are those of the first inspected_at_once() test images.
  /// Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  explicit DistributionPass(const Scene& scene)
      : selection_(scene.selection),
        device_(scene.device),
        stream_(scene.stream),
        inputs_(scene.device, sizeof(Inputs)),
        before_(scene.device, scene.parameters.bytes()) {
    plan::Bindings held_out = scene.held_out;
    held_out.control = &inputs_.as<Inputs>()->control;
    plan_ = std::make_unique<plan::Plan>(scene.model, plan::Purpose::inspection, selection_,
                                         inspected_at_once(scene), ops::Context{device_, scene.variants},
                                         stream_, held_out);
    add_activations(scene.model);
    add_parameters(scene);
    chunks_ = statistics::lay_out_chunks(tensors_);
    units_ = statistics::lay_out_chunks(unit_tensors_);
    make_buffers(scene);
    counting_ = stream_.capture([this] { enqueue_counting(); });
  }

  bool fits(const Scene& scene) const { return selection_ == scene.selection; }
  /// A look takes two calls with steps between them. The first copies the weights on the device; after the second,
  /// which returns true, enqueue() counts them and what they have changed by since. A training that stands still is
  /// looked at without updates before the first look, and where it has gone back since. Not while a look is under way.
  bool prepare(const Scene& scene) {
    // A training that was reset or rolled back in the meantime has other weights than an update made.
    const bool follows =
        remembers_ && remembered_generation_ == scene.generation && remembered_step_ <= scene.step;
    if (!follows) remember(scene);
    const bool is_new = !has_looked_ || generation_ != scene.generation || step_ > scene.step;
    return follows && (scene.step > remembered_step_ || is_new);
  }

  void enqueue(const Scene& scene) {
    update_steps_ = scene.step - remembered_step_;
    auto* const inputs = inputs_staging_.as<Inputs>();
    inputs->update_steps = static_cast<float>(std::max<std::uint64_t>(update_steps_, 1));
    stream_.copy(inputs_.data(), inputs, sizeof(Inputs));
    plan_->launch(stream_);
    stream_.launch(*counting_);
    step_ = scene.step;
    has_gradients_ = scene.has_gradients;
    generation_ = scene.generation;
    has_looked_ = true;
    remembers_ = false;
  }

  /// What has been counted, with the generation that it is of.
  CountedMoment made() const {
    auto moment = std::make_shared<DistributionMoment>();
    moment->step = step_;
    moment->update_steps = update_steps_;
    const auto* const results = results_arrived_.as<const std::byte>();
    const std::span counters(reinterpret_cast<const std::uint32_t*>(results),
                             slots_.size() * statistics::kCounters);
    const std::span sums(reinterpret_cast<const ChunkSums*>(results + sums_offset_),
                         static_cast<std::size_t>(chunks_));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      // Nothing has written the gradients before the first step, also of a checkpoint or moment that was gone back to.
      const bool missing = (slots_[i].quantity == Quantity::updates && update_steps_ == 0) ||
                           (slots_[i].quantity == Quantity::gradients && !has_gradients_);
      if (missing) continue;
      moment->distributions[{slots_[i].layer, slots_[i].quantity}] =
          statistics::distribution_of(counters, static_cast<std::uint32_t>(i), tensors_, sums);
    }
    for (std::size_t i = 0; i < unit_tensors_.size(); ++i) moment->dead[unit_layers_[i]] = dead_units(i);
    return {std::move(moment), generation_, plan_->batch()};
  }

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
  void add_activations(const models::Model& model) {
    const auto add = [&](std::size_t layer, const plan::WrittenTensor& output) {
      CountedTensor tensor;
      tensor.values = output.data;
      tensor.type = output.type;
      tensor.elements = output.elements;
      add_part(layer, Quantity::activations, tensor);
    };
    add(0, plan_->input());
    models::Extent extent{model.height, model.width, model.channels};
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const models::Layer& layer = model.layers[i];
      extent.pass(layer);
      const plan::WrittenTensor output = plan_->output(i);
      add(i + 1, output);
      if (layer.kind != models::LayerKind::relu) continue;
      UnitTensor units;
      units.values = output.data;
      units.type = output.type;
      units.batch = plan_->batch();
      units.units = output.elements / plan_->batch();
      units.channels = extent.channels;
      unit_tensors_.push_back(units);
      unit_layers_.push_back(i + 1);
    }
  }

  void add_parameters(const Scene& scene) {
    const models::ParameterLayout layout = models::parameter_layout(scene.model);
    for (const models::Parameter& parameter : layout.parameters) {
      if (!parameter.learned) continue;
      const std::size_t layer = parameter.layer + 1;
      CountedTensor weights;
      weights.values = scene.parameters.as<const float>() + parameter.offset;
      weights.elements = static_cast<std::int64_t>(parameter.elements);
      add_part(layer, Quantity::weights, weights);
      CountedTensor gradients = weights;
      gradients.values = scene.gradients.as<const float>() + parameter.offset;
      gradients.divisor = &scene.control->gradient_scale;
      add_part(layer, Quantity::gradients, gradients);
      CountedTensor updates = weights;
      updates.before = before_.as<const float>() + parameter.offset;
      updates.divisor = &inputs_.as<const Inputs>()->update_steps;
      add_part(layer, Quantity::updates, updates);
    }
  }

  void add_part(std::size_t layer, Quantity quantity, const statistics::CountedTensor& tensor) {
    tensors_.push_back(tensor);
    tensors_.back().result = slot_of(layer, quantity);
  }
  std::uint32_t slot_of(std::size_t layer, Quantity quantity) {
    const auto found = std::ranges::find_if(
        slots_, [&](const Slot& slot) { return slot.layer == layer && slot.quantity == quantity; });
    if (found != slots_.end()) return static_cast<std::uint32_t>(found - slots_.begin());
    slots_.push_back({layer, quantity});
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }

  void make_buffers(const Scene& scene) {
    unit_table_offset_ = core::aligned(tensors_.size() * sizeof(CountedTensor));
    const std::size_t table_bytes = unit_table_offset_ + unit_tensors_.size() * sizeof(UnitTensor);
    tables_ = core::Buffer(device_, table_bytes);
    tables_staging_ = core::HostBuffer(device_, table_bytes);
    std::copy(tensors_.begin(), tensors_.end(), tables_staging_.as<CountedTensor>());
    std::copy(unit_tensors_.begin(), unit_tensors_.end(),
              reinterpret_cast<UnitTensor*>(tables_staging_.as<std::byte>() + unit_table_offset_));
    sums_offset_ = core::aligned(slots_.size() * statistics::kCounters * sizeof(std::uint32_t));
    live_units_offset_ = sums_offset_ + core::aligned(static_cast<std::size_t>(chunks_) * sizeof(ChunkSums));
    live_channels_offset_ =
        live_units_offset_ + core::aligned(static_cast<std::size_t>(units_.chunks) * sizeof(std::uint32_t));
    const std::size_t bytes = live_channels_offset_ + static_cast<std::size_t>(units_.channels);
    results_ = core::Buffer(device_, bytes);
    results_arrived_ = core::HostBuffer(device_, bytes);
    inputs_staging_ = core::HostBuffer(device_, sizeof(Inputs));
    *inputs_staging_.as<Inputs>() = Inputs{};
    inputs_staging_.as<Inputs>()->control.position = static_cast<std::uint32_t>(scene.first_test);
    stream_.copy(tables_.data(), tables_staging_.data(), table_bytes);
    stream_.fill(before_.data(), 0, before_.bytes());
    stream_.synchronize();  // the tables may go at any time
  }

  /// What a graph does once the layers' outputs are there.
  void enqueue_counting() {
    auto* const results = results_.as<std::byte>();
    stream_.fill(results, 0, results_.bytes());
    statistics::CountCall values;
    values.tensors = tables_.as<const CountedTensor>();
    values.tensor_count = static_cast<int>(tensors_.size());
    values.chunks = chunks_;
    values.counters = results_.as<std::uint32_t>();
    values.sums = reinterpret_cast<ChunkSums*>(results + sums_offset_);
    statistics::count_values(*device_, stream_, values);
    statistics::UnitCall units;
    units.tensors = reinterpret_cast<const UnitTensor*>(tables_.as<const std::byte>() + unit_table_offset_);
    units.tensor_count = static_cast<int>(unit_tensors_.size());
    units.chunks = units_.chunks;
    units.live_units = reinterpret_cast<std::uint32_t*>(results + live_units_offset_);
    units.live_channels = reinterpret_cast<std::uint8_t*>(results + live_channels_offset_);
    statistics::find_live_units(*device_, stream_, units);
    stream_.copy(results_arrived_.data(), results, results_.bytes());
  }

  void remember(const Scene& scene) {
    stream_.copy(before_.data(), scene.parameters.data(), before_.bytes());
    remembers_ = true;
    remembered_step_ = scene.step;
    remembered_generation_ = scene.generation;
  }

  DeadUnits dead_units(std::size_t index) const {
    const UnitTensor& tensor = unit_tensors_[index];
    const auto* const results = results_arrived_.as<const std::byte>();
    const auto* const live_units = reinterpret_cast<const std::uint32_t*>(results + live_units_offset_);
    const auto* const live_channels =
        reinterpret_cast<const std::uint8_t*>(results + live_channels_offset_) + tensor.first_channel;
    const std::int64_t end =
        index + 1 < unit_tensors_.size() ? unit_tensors_[index + 1].first_chunk : units_.chunks;
    DeadUnits dead;
    dead.units = tensor.units;
    dead.dead_units =
        tensor.units - std::accumulate(live_units + tensor.first_chunk, live_units + end, std::int64_t{0});
    dead.channels = tensor.channels;
    dead.dead_channels = std::count(live_channels, live_channels + tensor.channels, std::uint8_t{0});
    return dead;
  }

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
  bool has_looked_ = false, has_gradients_ = false;
  std::uint64_t step_ = 0, update_steps_ = 0, generation_ = 0;
};

/// Observations::distributions of ObservationRequest::distributions. Earlier moments stay while nobody asks.
class DistributionObserver final : public Observer {
 public:
  bool ask(const ObservationRequest& request) override {
    return std::exchange(wanted_, request.distributions) != wanted_;
  }
  bool wanted() const override { return wanted_; }
  bool start(const Scene& scene) override {
    return !look_.busy() && look_.pass(scene).prepare(scene) && look_.start(scene);
  }
  bool take(Observations& seen) override {
    std::optional<CountedMoment> found = look_.take([](const DistributionPass& pass) { return pass.made(); });
    const bool again = !look_.busy() && !seen.distributions && !history_.moments().empty();
    if (!found && !again) return false;
    if (found) {
      history_.add(found->generation, std::move(found->moment));
      images_ = found->images;
    }
    auto all = std::make_shared<Distributions>();
    all->generation = history_.generation();
    all->images = images_;
    all->moments = history_.moments();
    seen.distributions = std::move(all);
    return true;
  }

  void end(Observations& seen) override {
    look_.forget();
    seen.distributions = nullptr;
  }
  void restart(Observations& seen) override {
    end(seen);
    history_ = DistributionHistory();
  }
  double seconds() const override { return look_.seconds(); }
  double share() const override { return 1.0 / 200; }

 private:
  bool wanted_ = false;
  DistributionHistory history_;
  int images_ = 0;
  PassLook<DistributionPass, CountedMoment> look_;
};

}  // namespace

std::unique_ptr<Observer> make_distribution_observer() {
  return std::make_unique<DistributionObserver>();
}

}  // namespace warpscope::training
