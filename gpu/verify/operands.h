#pragma once
// The operands of a call on the host: which there are, random ones, and the same in another precision.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/verify/host_values.h"

namespace warpscope::verify {

/// The bytes of every operand of a call, in its order. Operands that are only written may be empty in inputs.
using Operands = std::vector<Bytes>;

/// One operand of a call of known shape.
struct Slot {
  std::string name;
  ops::Access access{};
  ops::Role role{};
  std::int64_t elements = 0;
  int in_place_of = -1;
};

/// The slot of the ReLU's output that an absorbed relu.backward brings along.
inline constexpr const char* kReluOutputSlot = "relu_output";

/// Which operands of its contract an op brings along that is absorbed whole: those that the op before it does not have.
std::vector<int> own_operands(ops::Op absorbed);

/// The operands of a call of `op` that absorbs the ops `absorbed` after it: those of the contract, then those that OpCall
/// names. Throws core::Error for an op that nothing says how to absorb.
std::vector<Slot> slots_of(ops::Op op, const ops::OpShape& shape, std::span<const ops::Op> absorbed = {});

/// The slot of the op's last output: what an absorbed op goes on with.
std::size_t output_slot(ops::Op op);

/// The shape of an op that works on the output of `op` element by element.
ops::OpShape output_shape(ops::Op op, const ops::OpShape& shape);

/// Random operands, the same for the same seed: numbers standard normal and rounded to `precision`, image bytes uniform,
/// orders permutations, control blocks with positions inside the data set, a learning rate of 0.05 and a loss scale that
/// is a power of two. Where operands belong together they fit: the output that relu.backward reads has exact zeros, and
/// the argmax that maxpool2d.backward reads is one that the forward reference made. Inputs of maxpool2d.forward have
/// ties. Half of the gradients that gradients.norm reads hold one NaN or infinity. Updates get plausible settings, first
/// moments that point where the gradient does (so that nothing cancels, and Lion's signs are sure), second moments that are
/// not negative and the norm of their gradients; some find an overflow, a halted training or a loss that is NaN.
/// Logits are rounded to 1/64, sometimes large and tied; the labels beside them are below the number of classes.
Operands random_operands(ops::Op op, const ops::OpShape& shape, core::Precision precision, std::uint64_t seed,
                         std::span<const ops::Op> absorbed = {});

/// The same operands in another precision: numbers converted, bytes, indices and control blocks as they are.
Operands convert(std::span<const Slot> slots, const Operands& operands, core::Precision from,
                 core::Precision to);
Operands convert(ops::Op op, const Operands& operands, core::Precision from, core::Precision to);

/// The values of operand `index` of the contract.
std::vector<double> operand_values(ops::Op op, const Operands& operands, int index,
                                   core::Precision precision);

/// Floating-point operands, which are compared by their values; the others are compared by their bytes.
bool is_number(ops::Role role);

}  // namespace warpscope::verify
