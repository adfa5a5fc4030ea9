#pragma once
// Counts of the blocks that have arrived, in device memory: for kernels whose last block finishes the work of
// all. They are 0 between two calls; the last block sets its count back.

#include <cstddef>
#include <memory>

#include "gpu/core/device.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops {

class Arrivals final : public Prepared {
 public:
  Arrivals(core::Device& device, std::size_t counts)
      : device_(device), counts_(static_cast<unsigned*>(device.allocate(counts * sizeof(unsigned)))) {
    const std::unique_ptr<core::Stream> stream = device.make_stream();
    stream->fill(counts_, 0, counts * sizeof(unsigned));
    stream->synchronize();
  }
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;
  ~Arrivals() override { device_.deallocate(counts_); }
  unsigned* counts() const { return counts_; }

 private:
  core::Device& device_;
  unsigned* counts_;
};

}  // namespace warpscope::ops
