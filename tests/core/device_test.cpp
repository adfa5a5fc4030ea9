// Devices, streams, events and graphs: the same expectations for the CPU and, where there is one, for the
// GPU.

#include "gpu/core/device.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"

namespace warpscope::core::device_test {
namespace {

/// The message of the BadInput that opening `id` throws; "" if it opens.
std::string refusal(std::string_view id) {
  try {
    open_device(id);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Devices, TheCpuIsAlwaysListedLast) {
  const auto devices = list_devices();
  ASSERT_FALSE(devices.empty());
  const DeviceInfo& cpu = devices.back();
  EXPECT_EQ(cpu.kind, DeviceKind::cpu);
  EXPECT_EQ(cpu.id(), "cpu");
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_EQ(cpu.compute_capability, 0);
  EXPECT_GE(cpu.multiprocessors, 1);
  EXPECT_GT(cpu.memory_bytes, 0u);
}

TEST(Devices, AReasonIsGivenExactlyWhenThereIsNoCudaDevice) {
  EXPECT_EQ(cuda_unavailable_reason().empty(), list_devices().size() > 1);
}

TEST(Devices, AutoOpensTheFirstOneListed) {
  EXPECT_EQ(open_device("auto")->info().id(), list_devices().front().id());
}

TEST(Devices, AnUnknownNameListsTheValidOnes) {
  for (const char* wrong : {"", "gpu", "CPU", "cpu:0", "cudax"}) {
    const std::string text = refusal(wrong);
    EXPECT_NE(text.find("unknown device '" + std::string(wrong) + "'"), std::string::npos) << text;
    EXPECT_NE(text.find("valid: auto, cpu"), std::string::npos) << text;
  }
}

TEST(Devices, AMissingGpuSaysWhyAndWhatThereIs) {
  const std::string text = refusal("cuda:99");
  EXPECT_NE(text.find("no device 'cuda:99'"), std::string::npos) << text;
  EXPECT_NE(text.find("valid: auto, cpu"), std::string::npos) << text;
  EXPECT_NE(text.find(cuda_unavailable_reason()), std::string::npos) << text;
}

TEST(Devices, CudaWithoutAGpuIsRefusedWithTheReason) {
  if (cuda_unavailable_reason().empty()) GTEST_SKIP() << "this machine has a GPU";
  const std::string text = refusal("cuda");
  EXPECT_NE(text.find("'cuda' (" + cuda_unavailable_reason() + ")"), std::string::npos) << text;
}

/// Tests that hold on every device; the parameter is its name.
class DeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string id = GetParam();
    if (id == "cuda" && !cuda_unavailable_reason().empty()) GTEST_SKIP() << cuda_unavailable_reason();
    device_ = open_device(id);
    stream_ = device_->make_stream();
  }
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::Values("cpu", "cuda"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(DeviceTest, CountsTheMemoryThatItHandsOut) {
  EXPECT_EQ(device_->memory().allocated_bytes, 0u);
  void* first = device_->allocate(1000);
  void* second = device_->allocate(24);
  EXPECT_EQ(device_->memory().allocated_bytes, 1024u);
  device_->deallocate(first);
  EXPECT_EQ(device_->memory().allocated_bytes, 24u);
  device_->deallocate(second);
  device_->deallocate(nullptr);
  const MemoryUse use = device_->memory();
  EXPECT_EQ(use.allocated_bytes, 0u);
  EXPECT_GT(use.total_bytes, 0u);
  EXPECT_LE(use.free_bytes, use.total_bytes);
}

TEST_P(DeviceTest, AlignsMemoryTo256Bytes) {
  for (const std::size_t bytes : {1u, 255u, 257u}) {
    const Buffer buffer(device_, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
  }
}

TEST_P(DeviceTest, TooLargeAnAllocationThrowsAndChangesNothing) {
  const std::size_t too_much = std::numeric_limits<std::size_t>::max() / 4;
  try {
    device_->allocate(too_much);
    FAIL() << "an impossible allocation succeeded";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("iB of memory free"), std::string::npos) << error.what();
  }
  EXPECT_EQ(device_->memory().allocated_bytes, 0u);
  EXPECT_NO_THROW(Buffer(device_, 16));
}

TEST_P(DeviceTest, AllocatesFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int index = 0; index < 4; ++index) {
    threads.emplace_back([this] {
      for (int round = 0; round < 50; ++round) const Buffer buffer(device_, 4096);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device_->memory().allocated_bytes, 0u);
}

TEST_P(DeviceTest, CopiesAndFillsInStreamOrder) {
  const Buffer buffer(device_, 8);
  const HostBuffer host(device_, 8);
  stream_->fill(buffer.data(), 0xab, 8);
  stream_->fill(buffer.data(), 0xcd, 3);
  stream_->copy(host.data(), buffer.data(), 8);
  stream_->copy(host.data(), buffer.data(), 0);
  stream_->synchronize();
  const std::vector<std::uint8_t> got(host.as<std::uint8_t>(), host.as<std::uint8_t>() + 8);
  EXPECT_EQ(got, (std::vector<std::uint8_t>{0xcd, 0xcd, 0xcd, 0xab, 0xab, 0xab, 0xab, 0xab}));
}

TEST_P(DeviceTest, AGraphRunsAtEachLaunchAndNotBefore) {
  const Buffer source(device_, 4);
  const Buffer target(device_, 4);
  const HostBuffer host(device_, 4);
  stream_->fill(source.data(), 1, 4);
  stream_->fill(target.data(), 0, 4);
  const auto graph = stream_->capture([&] { stream_->copy(target.data(), source.data(), 4); });
  stream_->copy(host.data(), target.data(), 4);
  stream_->synchronize();
  EXPECT_EQ(*host.as<std::uint32_t>(), 0u) << "capturing ran the work";
  for (const std::uint8_t value : {std::uint8_t{7}, std::uint8_t{9}}) {
    stream_->fill(source.data(), value, 4);
    stream_->launch(*graph);
    stream_->copy(host.data(), target.data(), 4);
    stream_->synchronize();
    EXPECT_EQ(*host.as<std::uint32_t>(), 0x01010101u * value);
  }
}

TEST_P(DeviceTest, AGraphMayOutliveTheCallerOfCapture) {
  const Buffer target(device_, 1);
  const HostBuffer host(device_, 1);
  std::unique_ptr<Graph> graph;
  {
    std::uint8_t value = 5;
    graph = stream_->capture([this, value, memory = target.data()] { stream_->fill(memory, value, 1); });
  }
  stream_->launch(*graph);
  stream_->copy(host.data(), target.data(), 1);
  stream_->synchronize();
  EXPECT_EQ(*host.as<std::uint8_t>(), 5);
}

TEST_P(DeviceTest, AStreamWorksOnAfterAGraphWhoseBodyThrows) {
  // CUDA runs the body when capturing, the CPU when launching.
  const auto capture_and_launch = [this] {
    const auto graph = stream_->capture([] { throw std::runtime_error("the body failed"); });
    stream_->launch(*graph);
  };
  EXPECT_THROW(capture_and_launch(), std::runtime_error);
  const Buffer buffer(device_, 4);
  stream_->fill(buffer.data(), 1, 4);
  EXPECT_NO_THROW(stream_->synchronize());
}

TEST_P(DeviceTest, EventsAreReadyOnceTheirStreamGotThere) {
  const auto start = device_->make_event(true);
  const auto end = device_->make_event(true);
  EXPECT_TRUE(start->ready()) << "an event that was never recorded is ready";
  const Buffer buffer(device_, 1 << 20);
  const auto begin = std::chrono::steady_clock::now();
  stream_->record(*start);
  for (int round = 0; round < 10; ++round) stream_->fill(buffer.data(), 0, buffer.bytes());
  stream_->record(*end);
  end->synchronize();
  EXPECT_TRUE(start->ready());
  EXPECT_TRUE(end->ready());
  const std::chrono::duration<double, std::micro> around = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(end->microseconds_since(*start), 0.0);
  EXPECT_LE(end->microseconds_since(*start), 1.01 * around.count()) << "microseconds, of the work only";
}

TEST_P(DeviceTest, EventsInAGraphAreRecordedByEveryReplay) {
  const auto before = device_->make_event(true);
  const auto inside = device_->make_event(true);
  const Buffer buffer(device_, 1 << 20);
  const auto graph = stream_->capture([&] {
    stream_->fill(buffer.data(), 3, buffer.bytes());
    stream_->record(*inside);
  });
  for (int round = 0; round < 2; ++round) {
    stream_->record(*before);
    stream_->launch(*graph);
    stream_->synchronize();
    EXPECT_TRUE(inside->ready());
    EXPECT_GT(inside->microseconds_since(*before), 0.0) << "replay " << round;
  }
}

TEST_P(DeviceTest, OneStreamWaitsForTheEventOfAnother) {
  const auto other = device_->make_stream();
  const auto done = device_->make_event(false);
  const Buffer buffer(device_, 1 << 22);
  const HostBuffer host(device_, 1);
  for (int round = 0; round < 8; ++round)
    stream_->fill(buffer.data(), static_cast<std::uint8_t>(round), buffer.bytes());
  stream_->record(*done);
  other->wait(*done);
  other->copy(host.data(), buffer.as<std::uint8_t>() + buffer.bytes() - 1, 1);
  other->synchronize();
  EXPECT_EQ(*host.as<std::uint8_t>(), 7);
}

TEST_P(DeviceTest, AGraphHoldsTheWorkOfAStreamThatFollows) {
  const std::size_t bytes = 1 << 22;
  const auto beside = device_->make_urgent_stream();
  const auto begun = device_->make_event(true), done = device_->make_event(true);
  const Buffer source(device_, bytes), between(device_, bytes), target(device_, bytes), other(device_, bytes);
  const HostBuffer host(device_, 1);
  const auto graph = stream_->capture([&] {
    stream_->copy(between.data(), source.data(), bytes);
    beside->follow(*stream_);
    beside->record(*begun);
    beside->copy(target.data(), between.data(), bytes);
    beside->record(*done);
    stream_->fill(other.data(), 1, bytes);
    stream_->follow(*beside);
    stream_->copy(host.data(), target.as<std::uint8_t>() + bytes - 1, 1);
  });
  for (const std::uint8_t value : {std::uint8_t{7}, std::uint8_t{9}}) {
    stream_->fill(source.data(), value, bytes);
    stream_->launch(*graph);
    stream_->synchronize();
    EXPECT_EQ(*host.as<std::uint8_t>(), value);
    EXPECT_GT(done->microseconds_since(*begun), 0.0);
  }
}

TEST_P(DeviceTest, NativeHandlesExistOnCudaAlone) {
  const bool cuda = device_->kind() == DeviceKind::cuda;
  EXPECT_EQ(stream_->native() != nullptr, cuda);
  EXPECT_EQ(device_->make_event(false)->native() != nullptr, cuda);
}

}  // namespace
}  // namespace warpscope::core::device_test
