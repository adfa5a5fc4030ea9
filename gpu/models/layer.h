#pragma once
// Layers as plain data, and the table of their kinds: what a kind is called, which fields it has, what it makes of
// an image's size and which parameters it learns. What runs a layer stands in gpu/plan/layer_lowering.cpp.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::models {

enum class LayerKind : std::uint8_t {
  one_hot,
  embedding,
  conv2d,
  conv1d,
  linear,
  relu,
  gelu,
  maxpool2d,
  maxpool1d,
  global_average_pool,
  upsample2d,
  layer_norm,
  batch_norm,
  scale,
  dropout,
  add,
};

/// One layer. Which fields a kind uses stands in its row of the table. Kernels are odd; linear layers take all of an
/// image's numbers as features, in the order of NHWC; in one dimension images are one pixel high.
struct Layer {
  LayerKind kind = LayerKind::relu;
  std::string name;     ///< "conv1": PyTorch's name of its parameters; "relu1", "pool1", "up1" for the others
  int in_channels = 0;  ///< of convolutions; features of linear layers
  int out_channels = 0;  ///< of convolutions; features of linear layers
  int kernel = 0;    ///< of convolutions: height and width, in one dimension the width; windows of pooling
  bool bias = true;  ///< convolutions and linear layers: a number is added to each output channel
  std::string from = {};  ///< of add: the earlier layer whose output is added
  int stride = 1;         ///< of convolutions: input pixels from one output pixel to the next
  int dilation = 1;       ///< of convolutions: input pixels from one tap to the next
  bool valid = false;  ///< of convolutions: no padding; else dilation (kernel - 1) / 2 on each side, "same"
  float rate = 0;      ///< of dropout: the probability that a number is dropped
  int symbols = 0;     ///< of one_hot and embedding: input bytes 1 to so many are told apart
  float factor = 1;    ///< of scale: what each number is multiplied by, finite and not 0

  int kernel_height() const { return is_one_dimensional() ? 1 : kernel; }
  int kernel_width() const { return kernel; }
  bool is_one_dimensional() const { return kind == LayerKind::conv1d || kind == LayerKind::maxpool1d; }
  bool convolves() const { return kind == LayerKind::conv2d || kind == LayerKind::conv1d; }
  /// It reads the bytes of the input, so that it stands first.
  bool reads_symbols() const { return kind == LayerKind::one_hot || kind == LayerKind::embedding; }
  bool pools() const { return kind == LayerKind::maxpool2d || kind == LayerKind::maxpool1d; }
  /// It is a sum of products with weights.
  bool multiplies() const { return convolves() || kind == LayerKind::linear; }

  bool operator==(const Layer&) const = default;
};

/// The size of an image on its way through the layers; linear layers leave a height and a width of 1.
struct Extent {
  int height = 0;
  int width = 0;
  int channels = 0;

  /// From a layer's input to its output.
  void pass(const Layer& layer);

  std::int64_t elements() const { return std::int64_t{height} * width * channels; }
  bool operator==(const Extent&) const = default;
};

/// "32x32x3"
std::string to_string(const Extent& extent);

/// How PyTorch shapes a parameter.
enum class ParameterForm : std::uint8_t {
  vector,  ///< (K)
  table,   ///< (V, D), as ours: a row of D numbers for each of V symbols
  conv2d,  ///< (K, C, R, S); ours is (K, R, S, C)
  conv1d,  ///< (K, C, S); ours is (K, 1, S, C)
  linear,  ///< (K, C H W); ours is (K, H, W, C) for inputs of H x W x C
};

/// What a parameter is before anything is learned.
enum class Initial : std::uint8_t {
  he,      ///< N(0, 2 / (R S C)) of weights (K, R, S, C)
  normal,  ///< N(0, 1)
  zeros,
  ones,
};

/// A parameter of a layer, without its place.
struct LayerParameter {
  std::string_view name;   ///< "weight"
  std::vector<int> shape;  ///< ours
  ParameterForm form = ParameterForm::vector;
  Initial initial = Initial::zeros;
  bool learned =
      true;  ///< by the optimizer; false: the layer keeps it itself, as batch norm its running statistics
};

/// A field of Layer that files and people know, under the name that it has in a kind of layers.
struct LayerField {
  std::string_view key;          ///< in files: "channels"
  std::string_view meaning;      ///< for people
  int Layer::*number = nullptr;  ///< one of these four is not nullptr
  float Layer::*real = nullptr;
  bool Layer::*flag = nullptr;
  std::string Layer::*text = nullptr;  ///< the name of an earlier layer
  double least = 0;
  double most = 0;
  double standard = 0;                 ///< of numbers and flags; below `least`: it must be given
  bool odd = false;                    ///< even numbers are refused
  std::string_view off = {}, on = {};  ///< of flags: what they are called; empty: false and true
};

/// A file must give it.
bool is_required(const LayerField& field);
void set_standard(const LayerField& field, Layer& layer);
/// The field has its default; never of one that is required.
bool is_standard(const LayerField& field, const Layer& layer);

/// A kind of layers: a row of the table.
struct LayerRow {
  LayerKind kind{};
  std::string_view name;     ///< "conv2d"
  std::string_view prefix;   ///< of the names of layers that were given none: "conv" makes "conv1"
  std::string_view summary;  ///< what it makes of its input, in a line for people
  std::vector<LayerField> fields = {};
  void (*pass)(const Layer& layer, Extent& extent) = nullptr;  ///< nullptr: the size stays
  /// Why it cannot follow what makes images of this size, or ""; nullptr: it can.
  std::string (*objection)(const Layer& layer, const Extent& input) = nullptr;
  std::vector<LayerParameter> (*parameters)(const Layer& layer,
                                            const Extent& input) = nullptr;  ///< nullptr: none
  /// Fills in what follows from the input; nullptr: nothing does.
  void (*fit)(Layer& layer, const Extent& input) = nullptr;
};

/// All kinds, in the order in which they are listed to people.
std::span<const LayerRow> layer_rows();

const LayerRow& row_of(LayerKind kind);

/// The row of that name, or nullptr.
const LayerRow* find_layer_row(std::string_view name);

/// It learns something.
bool has_parameters(const Layer& layer);

}  // namespace warpscope::models
