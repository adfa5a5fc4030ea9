#pragma once
// Operations and their contracts: which operands an op takes, in which order, of which type and size, what it
// costs and how long its sums are. One folder per operation states the mathematics in <op>.h; everything that
// handles ops in general (plans, tests, benchmarks) works from the contract alone.
//
// Layouts: activations are NHWC, weights (K, R, S, C), all dense and row-major. Convolutions have stride 1
// and "same" padding: padding = (kernel - 1) / 2 with odd kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gpu/core/types.h"

namespace warpscope::ops {

/// Every operation a plan can launch. The order is the order in which they are listed to people.
enum class Op : std::uint8_t {
  weights_cast,
  batch_gather,
  labels_gather,
  block_forward,
  conv2d_forward,
  linear_forward,
  bias_forward,
  relu_forward,
  maxpool2d_forward,
  upsample2d_forward,
  mse_forward,
  cross_entropy_forward,
  images_widen,
  mse_backward,
  cross_entropy_backward,
  block_backward_weights,
  block_backward_input,
  conv2d_backward_input,
  conv2d_backward_weights,
  conv2d_backward_bias,
  linear_backward_input,
  linear_backward_weights,
  linear_backward_bias,
  relu_backward,
  maxpool2d_backward,
  upsample2d_backward,
  gradients_accumulate,
  gradients_keep,
  micro_batch_record,
  gradients_norm,
  optimizer_update,
  optimizer_update_per_sample,
  step_record,
};

inline constexpr int kOpCount = static_cast<int>(Op::step_record) + 1;

/// How an optimizer changes the parameters; the formulas are in optimizer/optimizer.h.
enum class UpdateRule : std::uint8_t { sgd, momentum, nesterov, adam, adamw, rmsprop, lion };

inline constexpr int kUpdateRuleCount = static_cast<int>(UpdateRule::lion) + 1;

/// How many numbers of state a rule keeps for each parameter: 0, 1 or 2.
int states_of(UpdateRule rule);

std::string_view to_string(UpdateRule rule);

/// Reads "adamw". Throws BadInput that lists the valid names.
UpdateRule parse_update_rule(std::string_view text);

/// Sums over all parameters are taken in so many parts, each over a contiguous slice of the same length but the last
/// ones (slice_length); whoever needs the whole adds the parts in an order of its own that is always the same.
inline constexpr int kSumParts = 256;

/// Elements of each part of a sum over `count`: part i covers [i slice_length, (i + 1) slice_length), cut off at count;
/// parts that begin beyond it are 0.
constexpr std::int64_t slice_length(std::int64_t count) {
  return 4 * ((count + 4 * kSumParts - 1) / (4 * kSumParts));  // whole 16-byte vectors
}

/// The shape of one instance of an op, in elements. `height` and `width` are those of the op's input.
/// Channel-preserving ops (bias, ReLU, pooling, upsampling, MSE, gather) use in_channels and ignore
/// out_channels; linear ops have in_channels and out_channels features and height = width = 1, the cross-entropy
/// in_channels classes. `count` is the number of images in the data set (gather), of parameters (optimizers,
/// casts, norms) or of slots in the ring (step.record).
struct OpShape {
  std::int64_t batch = 1;
  int height = 1;
  int width = 1;
  int in_channels = 1;
  int out_channels = 1;
  int kernel_height = 1;
  int kernel_width = 1;
  std::int64_t count = 1;
  UpdateRule rule = UpdateRule::sgd;  ///< of optimizer.update and optimizer.update_per_sample
  // Of blocks alone (block/block.h).
  bool upsample = false;  ///< the input is upsampled before the convolution
  bool relu = false;      ///< a ReLU follows it
  bool pool = false;      ///< max pooling ends it
  bool masked = false;    ///< backward_input: the input is what a ReLU gave

  bool operator==(const OpShape&) const = default;
};

/// How an op touches an operand.
enum class Access : std::uint8_t { read, write, update };

/// What an operand is; with the precision this gives its element type.
enum class Role : std::uint8_t {
  activation,  ///< activations and their gradients: fp32/tf32 -> f32, fp16 -> f16, bf16 -> bf16, fp64 -> f64
  weight,      ///< working weights and biases: as activation
  gradient,    ///< gradients of parameters: f32 (f64 in fp64)
  parameter,   ///< master parameters and optimizer state: f32 (f64 in fp64)
  scalar,      ///< losses and errors: f32 (f64 in fp64)
  byte,        ///< u8: image bytes, pool indices
  index,       ///< u32: positions in the data set
  control,     ///< StepControl or StepRecord (step/step.h), counted in bytes
};

/// One operand of an op.
struct Operand {
  const char* name;
  Access access;
  Role role;
  std::int64_t (*elements)(const OpShape&);
  int in_place_of = -1;  ///< index of the read operand whose memory this written one may share; -1 if none
};

/// Everything general code needs to know about an op.
struct OpContract {
  Op op;
  const char* name;     ///< "conv2d.forward", as people type it
  const char* summary;  ///< what it computes, in one line
  std::span<const Operand> operands;
  double (*flops)(const OpShape&);  ///< floating-point operations of one call, as the formula says
  std::int64_t (*terms)(
      const OpShape&);  ///< products summed into one output element: the tolerance follows from it
};

/// The contract of `op`.
const OpContract& contract(Op op);

/// All contracts, in the order of Op.
std::span<const OpContract> contracts();

std::string_view to_string(Op op);

/// Whether `op` is one of block.forward, block.backward_weights, block.backward_input.
bool is_block(Op op);

/// Reads "conv2d.forward". Throws BadInput that lists the valid names.
Op parse_op(std::string_view text);

/// The element type of an operand of `role` under `precision`.
core::ElementType element_type(Role role, core::Precision precision);

/// Bytes of operand `index` of `op` at `shape`.
std::size_t operand_bytes(Op op, int index, const OpShape& shape, core::Precision precision);

/// Fewest bytes a call moves through memory: each operand read once and written once. For batch.gather only
/// the gathered images count, not the whole data set.
double minimum_bytes(Op op, const OpShape& shape, core::Precision precision);

/// The floating-point operations of the cheapest way known to compute a call. Blocks with an upsampled input: each output
/// pixel meets only ((k + 1) / 2)^2 different input pixels of the k^2 that its formula names (block/block.h), 4 of 9 for
/// 3x3 kernels. All others: those of the formula, OpContract::flops.
double least_flops(Op op, const OpShape& shape);

/// "64x32x32x3 -> 256, 3x3": the shape as people read it.
std::string describe(Op op, const OpShape& shape);

/// Relative tolerance of a correct result, ||out - ref|| / ||ref||, of a sum of `terms` products in
/// `precision`: rounding errors of a sum grow with the square root of its length (N. Higham, "Accuracy and
/// Stability of Numerical Algorithms", 4.2, the statistical bound), so 4 u sqrt(terms) for the accumulation
/// in FP32 plus 2 u of the storage type for each rounded input and output; u is the unit roundoff. Of a few outputs, which
/// may cancel, ||ref|| is no less than what it is on average over the signs of the products.
double tolerance(core::Precision precision, std::int64_t terms);

}  // namespace warpscope::ops
