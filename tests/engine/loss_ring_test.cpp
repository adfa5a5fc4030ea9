#include "gpu/engine/loss_ring.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/async_device.h"

namespace warpscope::training::loss_ring_test {
namespace {

using ops::step::StepRecord;

constexpr auto kCapacity = static_cast<std::uint64_t>(LossRing::kCapacity);

class LateRing : public testing::Test {
 protected:
  LateRing() {
    for (std::uint64_t step = 0; step < records.size(); ++step)
      records[step] = {step, 1000 + step, 0.5f * static_cast<float>(step), 0.1f};
  }
  /// The device notes that many more steps.
  void enqueue(std::uint64_t steps) {
    for (const std::uint64_t end = enqueued + steps; enqueued < end; ++enqueued)
      stream->copy(ring.device_ring() + enqueued % kCapacity, &records[enqueued], sizeof(StepRecord));
  }
  void expect_all_arrived() {
    stream->synchronize();
    ring.collect(arrived);
    ASSERT_EQ(arrived.size(), enqueued);
    for (std::uint64_t step = 0; step < enqueued; ++step) {
      ASSERT_EQ(arrived[step].step, step);
      ASSERT_EQ(arrived[step].loss, records[step].loss);
    }
  }

  std::vector<StepRecord> records = std::vector<StepRecord>(5 * kCapacity);
  std::vector<StepRecord> arrived;
  std::uint64_t enqueued = 0;
  std::shared_ptr<core::Device> device = std::make_shared<tests::AsyncDevice>();
  LossRing ring{device};
  std::unique_ptr<core::Stream> stream = device->make_stream();
};

TEST_F(LateRing, BringsEveryRecordOnceWhateverTheRhythm) {
  for (const std::uint64_t steps : {1, 1, 255, 400, 3, 512, 511, 100, 512, 512, 7}) {
    enqueue(steps);
    EXPECT_EQ(ring.unrequested(enqueued), steps);
    ring.request(*stream, enqueued);
    EXPECT_EQ(ring.unrequested(enqueued), 0u);
    ring.collect(arrived);
  }
  expect_all_arrived();
}

TEST_F(LateRing, RequestsWithoutCollectingLoseNothing) {
  for (int i = 0; i < 20; ++i) {
    enqueue(200);
    ring.request(*stream, enqueued);
  }
  expect_all_arrived();
}

TEST_F(LateRing, RequestingTwiceBringsRecordsOnce) {
  enqueue(10);
  ring.request(*stream, enqueued);
  ring.request(*stream, enqueued);
  ring.request(*stream, enqueued);
  expect_all_arrived();
}

TEST_F(LateRing, CollectingNeverWaits) {
  const auto behind = std::make_shared<tests::AsyncDevice>();
  const auto late = behind->make_stream();
  const auto graph = late->capture([] {});
  auto held = behind->hold();
  late->launch(*graph);
  late->copy(ring.device_ring(), records.data(), sizeof(StepRecord));
  ring.request(*late, 1);
  ring.collect(arrived);
  EXPECT_TRUE(arrived.empty());
  held.reset();
  late->synchronize();
  ring.collect(arrived);
  EXPECT_EQ(arrived.size(), 1u);
}

TEST_F(LateRing, ResetForgetsWhatHasNotArrived) {
  enqueue(30);
  ring.request(*stream, enqueued);
  stream->synchronize();
  ring.reset();
  ring.collect(arrived);
  EXPECT_TRUE(arrived.empty());
  enqueued = 0;
  enqueue(5);
  ring.request(*stream, enqueued);
  expect_all_arrived();
}

}  // namespace
}  // namespace warpscope::training::loss_ring_test
