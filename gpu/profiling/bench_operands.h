#pragma once
// Device memory for calls of an op, filled with random numbers.

#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/variant.h"

namespace warpscope::profiling {

/// The operands of calls of variants with the same operands. Numbers are standard normal: the host makes a
/// block of them for each element type, and the device repeats it until an operand is full, so that large
/// operands cost no time. Image bytes are uniform, the winners of pooling windows and classes too, an order
/// is a permutation, and the control block is that of a training step in which nothing overflows and the
/// weights hardly move.
class BenchOperands {
 public:
  /// Throws core::OutOfMemory.
  BenchOperands(const std::shared_ptr<core::Device>& device, core::Stream& stream,
                const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision);
  /// Whether they are also those of `variant`: the same names in the same formats.
  bool fit(const ops::Variant& variant) const;
  const ops::ByName<void*>& pointers() const { return pointers_; }

 private:
  ops::OpShape shape_;
  std::vector<ops::CallOperand> operands_;
  std::vector<core::Buffer> buffers_;
  ops::ByName<void*> pointers_;
};

}  // namespace warpscope::profiling
