#pragma once
// What the proofs of an op need beyond its contract, a file of its folder (<op>/<op>_tests.cpp): shapes,
// operands where plain random numbers will not do, and how its gradient follows from another op. gpu/verify
// works from this and the contract only.

#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "gpu/ops/host_values.h"
#include "gpu/ops/op.h"

namespace warpscope::ops {

using Random = std::mt19937_64;

/// Operands of one call of an op that were drawn at random and shall fit each other. A covered
/// op is given only those that come from outside the call.
struct Draw {
  Op op;
  const OpShape& shape;
  core::Precision precision;
  Random& random;
  Operands& operands;     ///< by the op's own names
  bool far_means = true;  ///< Variant::far_means of the variant whose call it is

  bool given(Name name) const { return !operands[name].empty(); }

  std::vector<double> values(Name name) const {
    return given(name) ? decode(operands[name], type(name)) : std::vector<double>();
  }

  /// Calls change(values) with the values of an operand, which it may change. Nothing happens to one that is
  /// not given.
  template <class F>
  void edit(Name name, F change) const {
    if (!given(name)) return;
    std::vector<double> numbers = values(name);
    change(numbers);
    operands[name] = encode(numbers, type(name));
  }

  /// The same of an operand that is one T.
  template <class T, class F>
  void edit_item(Name name, F change) const {
    if (!given(name)) return;
    T item;
    std::memcpy(&item, operands[name].data(), sizeof(item));
    change(item);
    std::memcpy(operands[name].data(), &item, sizeof(item));
  }

 private:
  core::ElementType type(Name name) const { return element_type(operand_of(op, name).role, precision); }
};

/// How a backward op follows from a forward one: `result` is the gradient by `variable` of the sum of
/// `output` times `output_gradient`. Operands that both have by the same name are the same.
struct Derivative {
  Op forward{};
  OpShape shape;                      ///< a small one, of both
  Name variable{};                    ///< of the forward op
  Name result{};                      ///< of this op
  std::vector<OpShape> further = {};  ///< other small shapes, of which the formula says something else
  Name output = Name::output;         ///< of the forward op
  /// The operand of this op that holds the gradient of that output. None: the output is the loss itself, and the result
  /// is its gradient times the loss scale in `control`.
  std::optional<Name> output_gradient = Name::output_gradient;
};

/// What the proofs of one op need. Functions that are nullptr have nothing to add.
struct OpTests {
  /// Chosen shapes: one element, odd sizes, kernels larger than the image, the long sums of a whole batch.
  std::vector<OpShape> (*shapes)() = nullptr;

  OpShape (*random_shape)(Random& random) = nullptr;

  /// Shapes large enough that a GPU's variants choose each of their tiles. Slow on one CPU core.
  std::vector<OpShape> (*large_shapes)() = nullptr;

  /// Further shapes for variants that cover other ops too: layers of the models, small.
  std::vector<OpShape> (*chain_shapes)() = nullptr;

  /// Makes operands fit the op and each other, after each was drawn only by its role: numbers standard
  /// normal, bytes uniform, orders permutations, control blocks with a position inside an epoch and a loss
  /// scale that is a power of two.
  void (*fit)(const Draw& draw) = nullptr;

  /// Moves inputs off the corners of the function by more than the steps of finite differences.
  void (*smooth)(const Draw& draw) = nullptr;

  /// The forward op that this one is the gradient of; else why there is none.
  std::optional<Derivative> derivative = {};
  const char* no_derivative = "";
  std::vector<Derivative> more_derivatives = {};  ///< of its other results

  /// The share of outputs whose gradient goes elsewhere if the op's inputs (fp64) move by `margin` times
  /// their size.
  double (*corners)(const OpShape& shape, const Operands& before, double margin) = nullptr;

  /// Whether `written`, an operand that holds no numbers and is not the reference's, is right too if the op's
  /// inputs (fp64) were off by `tolerance` of their size, as those are that the same call has computed.
  bool (*accepts)(const OpShape& shape, const Operands& before, Name name, std::span<const std::byte> written,
                  double tolerance) = nullptr;

  /// A NaN in `input` shows in `output`, so that a diverged training shows; infinities are nothing special.
  bool lets_nan_through = false;

  /// Clears what differs from run to run, so that the rest can be compared. False if it was not written.
  bool (*clear_time)(const OpShape& shape, const Operands& before, Operands& after) = nullptr;
};

/// Those of `op`.
const OpTests& tests_of(Op op);

inline constexpr const char* kForwardOp = "a forward op: its gradients are held against it";
inline constexpr const char* kNoFunction = "no differentiable function of activations or weights";

}  // namespace warpscope::ops
