#include "gpu/messages/image_exchange.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/device.h"

namespace warpscope::training::image_exchange_test {
namespace {

/// An event of a device whose work finishes when the test says so.
class SlowEvent final : public core::Event {
 public:
  bool ready() const override { return done || !recorded; }
  void synchronize() const override {}
  double microseconds_since(const core::Event&) const override { return 0; }
  void* native() const override { return nullptr; }

  bool recorded = false;
  bool done = false;
};

/// Notes what it is told to wait for.
class SlowStream final : public core::Stream {
 public:
  void copy(void*, const void*, std::size_t) override {}
  void fill(void*, std::uint8_t, std::size_t) override {}
  void record(core::Event& event) override {
    auto& slow = static_cast<SlowEvent&>(event);
    slow.recorded = true;
    slow.done = false;
  }
  void wait(const core::Event& event) override { waits.push_back(&event); }
  void synchronize() override {}
  std::unique_ptr<core::Graph> capture(std::function<void()>) override { return nullptr; }
  void launch(core::Graph&) override {}
  void* native() const override { return nullptr; }

  std::vector<const core::Event*> waits;
};

/// The CPU, with slow events.
class SlowDevice final : public core::Device {
 public:
  const core::DeviceInfo& info() const override { return cpu_->info(); }
  void* allocate(std::size_t bytes) override { return cpu_->allocate(bytes); }
  void deallocate(void* memory) noexcept override { cpu_->deallocate(memory); }
  void* allocate_host(std::size_t bytes) override { return cpu_->allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_->deallocate_host(memory); }
  std::unique_ptr<core::Stream> make_stream() override { return std::make_unique<SlowStream>(); }
  std::unique_ptr<core::Event> make_event(bool) override { return std::make_unique<SlowEvent>(); }
  core::MemoryUse memory() const override { return cpu_->memory(); }
  void make_current() override {}

 private:
  std::shared_ptr<core::Device> cpu_ = core::open_device("cpu");
};

constexpr ImageShape kShape{3, 4, 5, 3};

/// An exchange whose batches finish one by one.
class SlowExchange : public testing::Test {
 protected:
  ImageSlot& publish(std::uint64_t step) {
    ImageSlot& slot = exchange.begin_write(stream);
    slot.step = step;
    exchange.publish(stream);
    return slot;
  }
  static void finish(ImageSlot& slot) { static_cast<SlowEvent&>(*slot.written).done = true; }

  SlowStream stream;
  ImageExchange exchange{std::make_shared<SlowDevice>(), kShape};
};

TEST_F(SlowExchange, HasNothingBeforeTheFirstBatchIsWritten) {
  EXPECT_EQ(exchange.acquire(), nullptr);
  ImageSlot& first = publish(10);
  EXPECT_EQ(exchange.acquire(), nullptr) << "published, but the device has not finished writing it";
  finish(first);
  const ImageSlot* held = exchange.acquire();
  ASSERT_EQ(held, &first);
  EXPECT_EQ(held->step, 10u);
  EXPECT_EQ(held->number, 1u);
}

TEST_F(SlowExchange, KeepsTheHeldBatchUntilTheNewerOneIsWritten) {
  ImageSlot& first = publish(1);
  finish(first);
  ASSERT_EQ(exchange.acquire(), &first);
  ImageSlot& second = publish(2);
  EXPECT_EQ(exchange.acquire(), &first);
  finish(second);
  EXPECT_EQ(exchange.acquire(), &second);
  EXPECT_EQ(exchange.acquire(), &second) << "nothing newer: the same batch again";
}

TEST_F(SlowExchange, ABatchIsUnreadFromItsPublishingUntilItIsAcquired) {
  EXPECT_FALSE(exchange.unread());
  ImageSlot& first = publish(1);
  EXPECT_TRUE(exchange.unread());
  exchange.acquire();
  EXPECT_TRUE(exchange.unread()) << "the device has not finished writing it";
  finish(first);
  exchange.acquire();
  EXPECT_FALSE(exchange.unread());
  finish(publish(2));
  finish(publish(3));
  EXPECT_TRUE(exchange.unread());
  exchange.acquire();
  EXPECT_FALSE(exchange.unread()) << "the second was passed over";
}

TEST_F(SlowExchange, TheNewestWins) {
  for (std::uint64_t step = 1; step <= 7; ++step) finish(publish(step));
  const ImageSlot* held = exchange.acquire();
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->step, 7u);
  EXPECT_EQ(held->number, 7u);
}

TEST_F(SlowExchange, NeverWritesTheHeldOrTheNewestBatch) {
  finish(publish(1));
  const ImageSlot* held = exchange.acquire();
  for (std::uint64_t step = 2; step < 8; ++step) {
    ImageSlot& newest = publish(step);
    EXPECT_NE(&newest, held);
    ImageSlot& next = exchange.begin_write(stream);
    EXPECT_NE(&next, held);
    EXPECT_NE(&next, &newest);
  }
  EXPECT_EQ(held->step, 1u);
}

TEST_F(SlowExchange, WritingWaitsForTheLastReaderOfThatSlot) {
  finish(publish(1));
  const ImageSlot* read = exchange.acquire();
  finish(publish(2));
  ASSERT_NE(exchange.acquire(), read);
  publish(3);
  stream.waits.clear();
  ImageSlot& reused = exchange.begin_write(stream);
  EXPECT_EQ(&reused, read);
  ASSERT_EQ(stream.waits.size(), 1u);
  EXPECT_EQ(stream.waits.front(), read->read.get());
}

TEST(ImageExchange, BuffersHoldTheWholeBatch) {
  ImageExchange exchange(core::open_device("cpu"), kShape);
  const auto stream = exchange.device()->make_stream();
  const ImageSlot& slot = exchange.begin_write(*stream);
  EXPECT_EQ(exchange.shape().elements(), 180u);
  EXPECT_EQ(slot.original.bytes(), 720u);
  EXPECT_EQ(slot.reconstruction.bytes(), 720u);
  EXPECT_EQ(slot.errors.bytes(), 12u);
}

TEST(ImageExchange, TwoThreadsNeverShareASlot) {
  constexpr std::uint64_t kBatches = 20000;
  ImageExchange exchange(core::open_device("cpu"), ImageShape{2, 4, 4, 3});
  const std::size_t elements = exchange.shape().elements();
  std::atomic<bool> done = false;
  std::thread trainer([&] {
    const auto stream = exchange.device()->make_stream();
    for (std::uint64_t step = 1; step <= kBatches; ++step) {
      ImageSlot& slot = exchange.begin_write(*stream);
      const auto value = static_cast<float>(step);
      std::fill_n(slot.original.as<float>(), elements, value);
      std::fill_n(slot.reconstruction.as<float>(), elements, -value);
      std::fill_n(slot.errors.as<float>(), 2, value);
      slot.step = step;
      exchange.publish(*stream);
    }
    done = true;
  });
  std::uint64_t last = 0;
  std::uint64_t torn = 0;
  std::uint64_t backwards = 0;
  while (last < kBatches) {
    const bool ended = done;
    const ImageSlot* slot = exchange.acquire();
    if (slot == nullptr) continue;
    backwards += slot->number < last || slot->number != slot->step;
    last = slot->number;
    const auto value = static_cast<float>(slot->step);
    const std::span originals(slot->original.as<const float>(), elements);
    const std::span reconstructions(slot->reconstruction.as<const float>(), elements);
    torn += !std::ranges::all_of(originals, [value](float v) { return v == value; });
    torn += !std::ranges::all_of(reconstructions, [value](float v) { return v == -value; });
    torn += slot->errors.as<const float>()[1] != value;
    if (ended && last < kBatches) break;
  }
  trainer.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(backwards, 0u);
  EXPECT_EQ(last, kBatches) << "the last batch is the newest for good";
}

}  // namespace
}  // namespace warpscope::training::image_exchange_test
