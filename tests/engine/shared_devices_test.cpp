// Two trainings of one process on one device.

#include <functional>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::shared_devices_test {
namespace {

/// A training on a device object of its own, as every training has.
struct Training {
  explicit Training(std::shared_ptr<const data::DataSet> data, std::shared_ptr<SharedDevices> shared,
                    float rate)
      : engine(options(std::move(shared), rate), std::move(data), device) {}
  static EngineOptions options(std::shared_ptr<SharedDevices> shared, float rate) {
    EngineOptions options = tests::tiny_engine_options();
    options.optimizer.learning_rate = rate;
    options.shared = std::move(shared);
    return options;
  }
  std::size_t bytes() const { return device->memory().allocated_bytes; }

  std::shared_ptr<core::Device> device = core::open_device("cpu");
  Engine engine;
};

class TwoTrainings : public testing::Test {
 protected:
  const std::shared_ptr<const data::DataSet> data =
      std::make_shared<data::DataSet>(tests::labelled_data(40, 12));
  const std::shared_ptr<SharedDevices> shared = std::make_shared<SharedDevices>();
};

TEST_F(TwoTrainings, StepInTurnsWithTheBitsOfEachByItself) {
  Training first(data, shared, 0.1f), second(data, shared, 0.02f);
  Training first_alone(data, nullptr, 0.1f), second_alone(data, nullptr, 0.02f);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(tests::losses(tests::run_steps(first.engine, 3)),
              tests::losses(tests::run_steps(first_alone.engine, 3)));
    EXPECT_EQ(tests::losses(tests::run_steps(second.engine, 2)),
              tests::losses(tests::run_steps(second_alone.engine, 2)));
  }
  EXPECT_EQ(first.engine.parameters(), first_alone.engine.parameters());
  EXPECT_EQ(second.engine.parameters(), second_alone.engine.parameters());
}

TEST_F(TwoTrainings, HoldTheirDataOnceAndCountTheirOwnMemory) {
  auto first = std::make_unique<Training>(data, shared, 0.1f);
  const std::size_t by_itself = first->bytes();
  const std::weak_ptr<const DeviceData> held = shared->data(first->device->info(), data);
  Training second(data, shared, 0.1f);
  EXPECT_EQ(second.bytes(), by_itself);
  EXPECT_EQ(first->bytes(), by_itself) << "the other's memory is not its own";
  EXPECT_EQ(held.lock(), shared->data(second.device->info(), data));
  EXPECT_EQ(Training(data, nullptr, 0.1f).bytes(), by_itself + held.lock()->bytes());
  first.reset();
  EXPECT_FALSE(held.expired()) << "the second trains on them";
}

TEST_F(TwoTrainings, OfOtherDataShareNothing) {
  const auto others = std::make_shared<data::DataSet>(*data);
  const core::DeviceInfo device = core::open_device("cpu")->info();
  const auto held = shared->data(device, data);
  EXPECT_NE(held, shared->data(device, others));
  const std::weak_ptr<const DeviceData> gone = shared->data(device, others);
  EXPECT_TRUE(gone.expired()) << "what nobody uses is not kept";
  EXPECT_EQ(held, shared->data(device, data));
}

TEST_F(TwoTrainings, KnowWhetherADeviceIsTheirOwn) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  core::DeviceInfo other = cpu;
  other.kind = core::DeviceKind::cuda;
  const auto first = shared->run_on(cpu);
  const auto before = shared->by_itself_on(cpu);
  EXPECT_TRUE(before.has_value());
  auto second = shared->run_on(other);
  EXPECT_EQ(shared->by_itself_on(cpu), before);
  second = shared->run_on(cpu);
  EXPECT_EQ(shared->by_itself_on(cpu), std::nullopt);
  second.reset();
  EXPECT_TRUE(shared->by_itself_on(cpu).has_value());
  EXPECT_NE(shared->by_itself_on(cpu), before) << "somebody was there in between";
}

/// Peaks that tell how often they were measured.
class CountedPeaks {
 public:
  profiling::Peaks operator()() {
    profiling::Peaks peaks;
    peaks.bytes = ++times_;
    return peaks;
  }

 private:
  int times_ = 0;
};

TEST_F(TwoTrainings, MeasureThePeaksOfADeviceOnce) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  core::DeviceInfo other = cpu;
  other.kind = core::DeviceKind::cuda;
  CountedPeaks measure;
  const auto measured = std::ref(measure);
  EXPECT_EQ(shared->peaks(cpu, measured).bytes, 1);
  EXPECT_EQ(shared->peaks(cpu, measured).bytes, 1) << "of the first who asked";
  EXPECT_EQ(shared->peaks(other, measured).bytes, 2) << "each device has its own";
  EXPECT_EQ(shared->peaks(cpu, measured).bytes, 1);
  EXPECT_EQ(SharedDevices().peaks(cpu, measured).bytes, 3) << "who shares nothing measures";
}

TEST_F(TwoTrainings, KeepNoPeaksThatWereMeasuredBesideATraining) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  CountedPeaks measure;
  auto runs = shared->run_on(cpu);
  EXPECT_EQ(shared->peaks(cpu, std::ref(measure)).bytes, 1);
  runs.reset();
  const auto disturbed = [&] {
    shared->run_on(cpu);  // comes and goes meanwhile
    return measure();
  };
  EXPECT_EQ(shared->peaks(cpu, disturbed).bytes, 2);
  EXPECT_EQ(shared->peaks(cpu, std::ref(measure)).bytes, 3);
  runs = shared->run_on(cpu);
  EXPECT_EQ(shared->peaks(cpu, std::ref(measure)).bytes, 3) << "these are kept";
}

TEST_F(TwoTrainings, ThatCannotMeasureTryAgain) {
  const core::DeviceInfo cpu = core::open_device("cpu")->info();
  const auto fail = []() -> profiling::Peaks { throw core::Error("no peaks"); };
  EXPECT_THROW(shared->peaks(cpu, fail), core::Error);
  CountedPeaks measure;
  EXPECT_EQ(shared->peaks(cpu, std::ref(measure)).bytes, 1);
}

}  // namespace
}  // namespace warpscope::training::shared_devices_test
