#pragma once
// Tests that run on the CPU and on CUDA, by name; skipped where the device is not there.

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/device.h"

namespace warpscope::tests {

class DeviceCase : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool cuda = GetParam() == "cuda";
    if (cuda && !core::cuda_unavailable_reason().empty()) GTEST_SKIP() << core::cuda_unavailable_reason();
    device_ = core::open_device(GetParam());
    device_->make_current();
    stream_ = device_->make_stream();
  }
  core::Buffer uploaded(const void* from, std::size_t bytes) {
    core::Buffer buffer(device_, std::max<std::size_t>(bytes, 1));
    stream_->copy(buffer.data(), from, bytes);
    stream_->synchronize();
    return buffer;
  }

  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
};

}  // namespace warpscope::tests
