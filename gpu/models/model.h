#pragma once
// Networks as plain data: layers and shapes, nothing else. What runs them is a plan's business.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::models {

enum class LayerKind : std::uint8_t { conv2d, linear, relu, maxpool2d, upsample2d };

/// One layer. Convolutions have stride 1, "same" padding, a bias, and odd kernels. Linear layers have a bias
/// and take all of an image's numbers as features, in the order of NHWC.
struct Layer {
  LayerKind kind = LayerKind::relu;
  std::string name;     ///< "conv1": PyTorch's name of its parameters; "relu1", "pool1", "up1" for the others
  int in_channels = 0;  ///< of convolutions; features of linear layers
  int out_channels = 0;  ///< of convolutions; features of linear layers
  int kernel = 0;        ///< convolutions only: height and width
};

/// The size of an image on its way through the layers; linear layers leave a height and a width of 1.
struct Extent {
  int height = 0;
  int width = 0;
  int channels = 0;

  /// From a layer's input to its output.
  void pass(const Layer& layer);
};

/// What training makes small.
enum class Loss : std::uint8_t {
  mse,            ///< the mean squared error between output and input
  cross_entropy,  ///< softmax cross-entropy between the output, one logit a class, and the label
};

/// A chain of layers and a loss.
struct Model {
  std::string name;
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<Layer> layers;
  Loss loss = Loss::mse;
  int classes = 0;  ///< with cross_entropy
  /// Classes of a linear head on the latents (latent.h) that learns beside the layers, of a model that reconstructs;
  /// 0: there is none. It is no layer: what the layers make does not depend on it.
  int head_classes = 0;
};

/// What the names of the head's parameters begin with, and the layer that its ops are told to be of.
inline constexpr const char* kHead = "head";

/// One parameter tensor's place in the contiguous parameter buffer.
struct Parameter {
  std::string name;  ///< "conv1.weight", "conv1.bias"
  /// Weights (K, R, S, C), of linear layers (K, H, W, C) for inputs of H x W x C; biases (K).
  std::vector<int> shape;
  std::size_t offset = 0;  ///< in elements; multiples of 64, so that every tensor is 256-byte aligned
  std::size_t elements = 0;
  std::size_t layer = 0;  ///< index in Model::layers; their number for the head's
  bool linear = false;    ///< a linear layer's weights: PyTorch's shape is (K, C H W)
};

/// Where each parameter lies.
struct ParameterLayout {
  std::vector<Parameter> parameters;
  std::size_t elements = 0;  ///< of the whole buffer, padding included
  std::size_t count = 0;     ///< of parameters, padding not included

  /// Throws std::logic_error if there is no such parameter.
  const Parameter& find(std::string_view name) const;
};

/// The head's come last, so that the others lie where they do without it.
ParameterLayout parameter_layout(const Model& model);

/// "conv1", "head": whose parameter it is.
std::string layer_of(const Model& model, const Parameter& parameter);

/// `model` with a head of so many classes on its latents; with 0 without one.
Model with_head(Model model, int classes);

/// The names that find_model() takes.
std::vector<std::string> model_names();

/// A model by name. Throws core::BadInput that lists the valid names.
Model find_model(std::string_view name);

/// Throws core::BadInput that says which layer does not fit what comes before it, or what else the model
/// lacks: images, a layer to train, names that differ, an output of the input's size or of a logit a class, a head
/// that has something to add.
void check_model(const Model& model);

/// Initial parameters in the layout above: weights from He's normal distribution, N(0, 2 / (R S C)), biases
/// zero, padding zero. The same bits for the same seed everywhere (counter-based generator, Box-Muller).
/// Source: K. He et al., "Delving Deep into Rectifiers" (2015), equation 10.
std::vector<float> initial_parameters(const Model& model, std::uint64_t seed);

}  // namespace warpscope::models
