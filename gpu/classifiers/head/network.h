#pragma once
// Two linear layers with a ReLU between them, on rows of features: forward, gradients and updates by the variants of
// gpu/ops.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/classifiers/features.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/variant.h"

namespace warpscope::classifiers::head {

struct NetworkShape {
  int columns = 0;  ///< of the features
  int hidden = 0;
  int classes = 0;
};

/// Where each parameter lies in one buffer, in elements. Weights are (outputs, inputs). What lies between parameters
/// stays as it is.
struct NetworkLayout {
  explicit NetworkLayout(const NetworkShape& shape);
  std::size_t first_weights = 0, first_bias = 0, second_weights = 0, second_bias = 0;
  std::size_t elements = 0;  ///< of the whole buffer
};

/// Weights from N(0, 2 / inputs), biases and all else 0; the same for the same seed. Source: K. He et al., "Delving
/// Deep into Rectifiers" (2015), equation 10.
std::vector<float> initial_parameters(const NetworkShape& shape, std::uint64_t seed);

/// The network for batches of one size. It enqueues its work on the stream of its place and owns no parameters.
class Network {
 public:
  /// Throws OutOfMemory.
  Network(const Place& place, const NetworkShape& shape, std::int64_t batch);

  /// logits = W2 relu(W1 x + b1) + b2. `rows`: (batch, columns) in memory of the device.
  void forward(const float* rows, const float* parameters);
  /// (batch, classes), of the last forward().
  const float* logits() const { return logits_.as<float>(); }

  /// Where one step finds what changes from step to step, all in memory of the device.
  struct Step {
    const float* rows = nullptr;                      ///< (batch, columns)
    const std::uint8_t* labels = nullptr;             ///< (batch)
    const ops::step::StepControl* control = nullptr;  ///< the rate, the decays and how many updates were made
    float* metrics = nullptr;                         ///< ops::step::kMetrics of the batch, written
  };
  /// One update of `parameters` by Adam: the gradient of the mean cross-entropy of the batch, plus weight_decay times
  /// the parameters. `moments`: both moments, one after the other, of as many elements as the parameters each.
  void step(const Step& step, float* parameters, float* moments);

 private:
  /// The calls of a step, in their order.
  enum Call : std::uint8_t {
    kFirstProduct,
    kFirstBias,
    kRelu,
    kSecondProduct,
    kSecondBias,
    kLoss,
    kLossGradient,
    kSecondWeights,
    kSecondBiasGradient,
    kHiddenGradient,
    kReluGradient,
    kFirstWeights,
    kFirstBiasGradient,
    kUpdate,
    kCalls
  };
  /// One of them: by which variant it runs.
  struct Launch {
    const ops::Variant* variant = nullptr;
    ops::OpShape shape;
    std::unique_ptr<ops::Prepared> prepared;
  };
  using Operands = std::vector<std::pair<ops::Name, const void*>>;

  void prepare(Call call, ops::Op op, const ops::OpShape& shape);
  void launch(Call call, const Operands& operands);
  void backward(const Step& step, const float* parameters);

  Place place_;
  ops::Context context_;
  core::Precision precision_;
  NetworkLayout layout_;
  core::Buffer hidden_, logits_, hidden_gradient_, logits_gradient_, gradients_;
  core::Buffer losses_, predicted_, statistics_, norm_parts_, workspace_;
  std::array<Launch, kCalls> launches_;
};

}  // namespace warpscope::classifiers::head
