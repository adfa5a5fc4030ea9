#pragma once
// The network that trains: its weights, gradients and optimizer state in device memory, and the weights that it
// began with. It enqueues work on the training's stream and knows nothing of steps, data or plans.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/dataset.h"
#include "gpu/engine/engine_state.h"
#include "gpu/models/model.h"
#include "gpu/ops/optimizer/update_rule.h"
#include "gpu/plan/plan.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

/// What an update reads and writes, each in models::ParameterLayout with room behind it for a head that may come
/// later. A rule without a state leaves its buffer empty.
struct NetworkBuffers {
  core::Buffer parameters, gradients, states[2];

  void bind(plan::Bindings& bindings) const;
};

/// How much of a network goes on in the one after it.
struct CarriedOver {
  std::size_t tensors = 0;  ///< of parameters
  std::size_t of = 0;       ///< the new network has
};

class NetworkState {
 public:
  /// Reads or draws the first weights and allocates; start_again() fills. Throws core::BadInput if the file of initial
  /// weights does not fit, core::OutOfMemory before anything is drawn if the network cannot fit.
  NetworkState(const EngineSettings& settings, const data::DataSet& data,
               std::shared_ptr<core::Device> device, core::Stream& stream);

  /// The first weights again, no gradients and fresh state. Waits.
  void start_again();

  /// Weights of `model` from the seed in memory of their own, but for the parameters of the same name and shape, which
  /// are this network's now; fresh state. Waits. Throws core::OutOfMemory.
  NetworkState followed_by(const models::Model& model, const data::DataSet& data, CarriedOver& carried) const;

  /// The optimizer's state of another rule, zeros, to be bound before it is adopted.
  NetworkBuffers fresh_states(ops::UpdateRule rule) const;
  void adopt_states(ops::UpdateRule rule, NetworkBuffers states);

  /// `model` is the present one with a head or without. A new head has first weights from the seed. The buffers stay.
  /// Waits.
  void set_head(models::Model model);

  /// Fills the network's part of a state with `buffers`, its own or copies of them. Waits.
  void save(EngineState& state, const NetworkBuffers& buffers) const;
  /// Throws core::BadInput if `state` is not of this model and rule.
  void check(const EngineState& state) const;
  /// Takes up its part of a state that passed check(). Waits.
  void restore(const EngineState& state);

  /// The values of one of the buffers. Waits.
  std::vector<float> download(const core::Buffer& buffer) const;

  const NetworkBuffers& buffers() const { return buffers_; }
  const models::Model& model() const { return model_; }
  const models::Model& bare_model() const { return bare_model_; }  ///< without its head
  const models::ParameterLayout& layout() const { return layout_; }
  ops::UpdateRule rule() const { return rule_; }
  /// models::ParameterLayout.
  const std::vector<float>& first_weights() const { return first_weights_; }
  void set_first_weights(std::vector<float> weights) { first_weights_ = std::move(weights); }
  /// The parameters that a file of initial weights which is taken in part left to the seed.
  const std::vector<std::string>& seeded_parameters() const { return seeded_; }
  /// What people should know of how that file was read, in one sentence, else "".
  const std::string& init_notice() const { return init_notice_; }

 private:
  NetworkState(const NetworkState& before, const models::Model& model, const data::DataSet& data);
  void allocate(const data::DataSet& data);

  std::shared_ptr<core::Device> device_;
  core::Stream* stream_;
  std::uint64_t seed_;
  ops::UpdateRule rule_;
  models::Model model_, bare_model_;
  models::ParameterLayout layout_;
  std::vector<std::string> seeded_;
  std::string init_notice_;
  std::vector<float> first_weights_;
  NetworkBuffers buffers_;
};

}  // namespace warpscope::training
