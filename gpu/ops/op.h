#pragma once
// Operations and their contracts: which operands an op takes, in which order, of which type and size, what it
// costs and how long its sums are. One folder per operation states the mathematics in <op>.cpp; everything that
// handles ops in general (plans, tests, benchmarks) works from the contract only.
//
// Layouts: activations are NHWC, weights (K, R, S, C), all dense and row-major. Kernels have odd extents.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/types.h"
#include "gpu/ops/names.h"
#include "gpu/ops/op_list.h"
#include "gpu/ops/parameters.h"

namespace warpscope::ops {

/// Every operation a plan can launch. The order is the order in which they are listed to people.
enum class Op : std::uint8_t {
#define WARPSCOPE_OP(op, folder, name) op,
  WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP
};

inline constexpr int kOpCount = 0
#define WARPSCOPE_OP(op, folder, name) +1  // NOLINT(bugprone-macro-parentheses): a sum
    WARPSCOPE_OPS(WARPSCOPE_OP)
#undef WARPSCOPE_OP
    ;

/// A set of operations.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (const Op op : ops) add(op);
  }
  constexpr bool has(Op op) const { return (bits_[index(op)] >> bit(op) & 1) != 0; }
  constexpr void add(Op op) { bits_[index(op)] |= std::uint64_t{1} << bit(op); }
  constexpr void remove(Op op) { bits_[index(op)] &= ~(std::uint64_t{1} << bit(op)); }
  constexpr bool has_all(const OpSet& others) const {
    return (bits_[0] & others.bits_[0]) == others.bits_[0] && (bits_[1] & others.bits_[1]) == others.bits_[1];
  }
  constexpr bool has_any(const OpSet& others) const {
    return (bits_[0] & others.bits_[0]) != 0 || (bits_[1] & others.bits_[1]) != 0;
  }
  constexpr OpSet operator|(const OpSet& others) const {
    OpSet both = *this;
    for (std::size_t i = 0; i < bits_.size(); ++i) both.bits_[i] |= others.bits_[i];
    return both;
  }
  constexpr int size() const { return std::popcount(bits_[0]) + std::popcount(bits_[1]); }
  constexpr bool empty() const { return size() == 0; }
  constexpr bool operator==(const OpSet&) const = default;

 private:
  static constexpr std::size_t index(Op op) { return static_cast<std::size_t>(op) / 64; }
  static constexpr unsigned bit(Op op) { return static_cast<unsigned>(op) % 64; }
  std::array<std::uint64_t, 2> bits_{};
};
static_assert(kOpCount <= 128);

/// a / b, rounded up.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Kernels that index with 32 bits take so many elements: far enough under 2^31 that what lies a tile past the end does
/// not wrap.
inline constexpr std::int64_t kMostElements = 2'000'000'000;

/// Sums over all parameters are taken in so many parts, each over a contiguous slice of the same length but
/// the last ones (slice_length); whoever needs the whole adds the parts in an order of its own that is always
/// the same.
inline constexpr int kSumParts = 256;

/// Elements of each part of a sum over `count`: part i covers [i slice_length, (i + 1) slice_length), cut off
/// at count; parts that begin beyond it are 0.
constexpr std::int64_t slice_length(std::int64_t count) {
  return 4 * ((count + 4 * kSumParts - 1) / (4 * kSumParts));  // whole 16-byte vectors
}

/// The shape of one instance of an op, in elements. `height` and `width` are those of the op's input.
/// Channel-preserving ops (bias, ReLU, pooling, upsampling, MSE, gather) use in_channels and ignore
/// out_channels; linear ops have in_channels and out_channels features and height = width = 1, the
/// cross-entropy in_channels classes. Kernels are those of convolutions and the windows of pooling, 1x1 for all
/// others. `count` is the number of images in the data set (gather), of rows of a table
/// (embedding), of parameters (optimizers, casts, norms) or of slots in the ring (step.record). What else an op reads
/// are parameters (parameters.h).
struct OpShape {
  std::int64_t batch = 1;
  int height = 1;
  int width = 1;
  int in_channels = 1;
  int out_channels = 1;
  int kernel_height = 1;
  int kernel_width = 1;
  std::int64_t count = 1;
  OpSet covered = {};  ///< other ops that the call covers (Variant::chain)
#define WARPSCOPE_PARAMETER(type, name, standard, least, most, shown) type name = standard;
  WARPSCOPE_PARAMETERS(WARPSCOPE_PARAMETER)
#undef WARPSCOPE_PARAMETER

  bool operator==(const OpShape&) const = default;
};

/// Calls visit(parameter, field, standard) with each parameter of `shape`, an OpShape that may be const.
template <class Shape, class Visit>
constexpr void visit_parameters(Shape& shape, const Visit& visit) {
#define WARPSCOPE_PARAMETER(type, name, standard, least, most, shown) \
  visit(Parameter::name, shape.name, static_cast<type>(standard));
  WARPSCOPE_PARAMETERS(WARPSCOPE_PARAMETER)
#undef WARPSCOPE_PARAMETER
}

/// The shape of the op of a call by itself, whatever the call covers.
constexpr OpShape by_itself(OpShape shape) {
  shape.covered = {};
  shape.window_height = shape.window_width = 1;
  shape.patch_channels = 0;
  return shape;
}

/// Input pixels from the first tap of a kernel to the last, both included.
constexpr std::int64_t kernel_reach(const OpShape& shape, int kernel) {
  return std::int64_t{shape.dilation} * (kernel - 1) + 1;
}

/// Zeros before and behind the rows and columns of a convolution's input.
constexpr int padding_of(const OpShape& shape, int kernel) {
  return shape.valid ? 0 : shape.dilation * (kernel - 1) / 2;
}

/// What a convolution makes of `input` rows or columns; 0 where the kernel does not fit.
constexpr int output_extent(const OpShape& shape, int input, int kernel) {
  const std::int64_t room = input + 2 * std::int64_t{padding_of(shape, kernel)} - kernel_reach(shape, kernel);
  return room < 0 ? 0 : static_cast<int>(room / shape.stride) + 1;
}
constexpr int output_height(const OpShape& shape) {
  return output_extent(shape, shape.height, shape.kernel_height);
}
constexpr int output_width(const OpShape& shape) {
  return output_extent(shape, shape.width, shape.kernel_width);
}

/// Whether a convolution steps by one pixel, has its taps side by side and keeps the size of the image.
constexpr bool is_plain(const OpShape& shape) {
  const bool one_tap = shape.kernel_height == 1 && shape.kernel_width == 1;
  return shape.stride == 1 && (one_tap || (shape.dilation == 1 && !shape.valid));
}

/// How an op touches an operand.
enum class Access : std::uint8_t { read, write, update };

/// What an operand is; with the precision this gives its element type.
enum class Role : std::uint8_t {
  activation,  ///< activations and their gradients: fp32/tf32 -> f32, fp16 -> f16, bf16 -> bf16, fp64 -> f64
  weight,      ///< working weights and biases: as activation
  gradient,    ///< gradients of parameters: f32 (f64 in fp64)
  parameter,   ///< master parameters and optimizer state: f32 (f64 in fp64)
  scalar,      ///< losses, errors and statistics: f32 (f64 in fp64)
  byte,        ///< u8: image bytes, pool indices
  index,       ///< u32: positions in the data set
  control,     ///< StepControl or StepRecord (step/step.h), counted in bytes
};

/// One operand of an op.
struct Operand {
  Name name;
  Access access;
  Role role;
  std::int64_t (*elements)(const OpShape&);
  int in_place_of = -1;  ///< index of the read operand whose memory this written one may share; -1 if none
};

/// What kind of work an op is.
enum class Work : std::uint8_t {
  movement,  ///< element by element, gathers, reductions: CUDA cores and memory
  products,  ///< sums of products of two operands, which tensor cores can run
};

/// What an op works on.
enum class Scope : std::uint8_t {
  layer,       ///< the activations and weights of one layer
  parameters,  ///< the buffers of all parameters, or the record of the step
  display,     ///< what is shown to people; no part of a training step
};

inline double no_flops(const OpShape&) {
  return 0.0;
}
inline std::int64_t one_term(const OpShape&) {
  return 1;
}

/// Everything general code needs to know about an op.
struct OpContract {
  const char* name;     ///< "conv2d.forward", as people type it
  const char* summary;  ///< what it computes, in one line
  std::span<const Operand> operands;
  double (*flops)(const OpShape&) = no_flops;  ///< floating-point operations of one call, as the formula says
  /// Products summed into an output element: the tolerance follows.
  std::int64_t (*terms)(const OpShape&) = one_term;
  std::string (*describe)(const OpShape&);  ///< "64x32x32x3 -> 256, 3x3": its extents as people read them
  std::vector<Parameter> parameters = {};   ///< those that it reads, but for those of calls
  Work work = Work::movement;
  Scope scope = Scope::layer;
  OpShape (*touched)(const OpShape&) = nullptr;     ///< what a call touches of the operands; nullptr: all
  double (*least_flops)(const OpShape&) = nullptr;  ///< of the cheapest way known; nullptr: the formula's
  /// It adds what all ranks of a training have: each of them makes the same calls in the same order, and waits in them.
  bool adds_over_ranks = false;
  /// Where a call may be made in pieces of `count` (OpCall::early): the operands that have an element for each of it.
  /// Those of more than one shard do not.
  std::vector<Name> in_pieces = {};
  Op op{};  ///< filled in by the table
};

/// The contract of `op`.
const OpContract& contract(Op op);

/// All contracts, in the order of Op.
std::span<const OpContract> contracts();

std::string_view to_string(Op op);

/// Reads "conv2d.forward". Throws BadInput that lists the valid names.
Op parse_op(std::string_view text);

/// "bias, relu, maxpool2d": the ops of a set in the order of Op, without what they have in common.
std::string describe(const OpSet& ops);

/// The operand of `op` called `name`. Throws std::logic_error if it has none.
const Operand& operand_of(Op op, Name name);

/// The element type of an operand of `role` under `precision`.
core::ElementType element_type(Role role, core::Precision precision);

/// The floating-point operations of the cheapest way known to compute a call: an upsampled input of a
/// convolution, for instance, holds each pixel four times.
double least_flops(Op op, const OpShape& shape);

/// "64x32x32x3 -> 256, 3x3; with bias, relu": the shape as people read it.
std::string describe(Op op, const OpShape& shape);

/// Relative tolerance of a correct result, ||out - ref|| / ||ref||, of a sum of `terms` products in
/// `precision`: rounding errors of a sum grow with the square root of its length (N. Higham, "Accuracy and
/// Stability of Numerical Algorithms", 4.2, the statistical bound), so 4 u sqrt(terms) for the accumulation
/// in FP32 plus 2 u of the storage type for each rounded input and output; u is the unit roundoff. ||ref||
/// of a few outputs, which may cancel, is no less than what it is on average over the signs of the products.
double tolerance(core::Precision precision, std::int64_t terms);

}  // namespace warpscope::ops
