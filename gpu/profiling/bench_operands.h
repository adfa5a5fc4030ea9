#pragma once
// Device memory for one call of an op, filled with random numbers.

#include <memory>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/op.h"

namespace warpscope::profiling {

/// The operands of one op on one shape. Numbers are standard normal: the host makes a block of them for each element type,
/// and the device repeats it until an operand is full, so that large operands cost no time. Image bytes are uniform, the
/// winners of pooling windows too, an order is a permutation, and the control block is that of a training step in which
/// nothing overflows and the weights hardly move.
class BenchOperands {
 public:
  /// Throws core::OutOfMemory.
  BenchOperands(const std::shared_ptr<core::Device>& device, core::Stream& stream, ops::Op op,
                const ops::OpShape& shape, core::Precision precision);
  const std::vector<void*>& pointers() const { return pointers_; }

 private:
  std::vector<core::Buffer> buffers_;
  std::vector<void*> pointers_;
};

}  // namespace warpscope::profiling
