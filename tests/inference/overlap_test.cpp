// Batches of which the host reads one while the device works on another: the same answers as one by one, in any end.

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/inference/inference.h"
#include "tests/support/stream_kinds.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::inference::overlap_test {
namespace {

constexpr int kImages = 37;

std::unique_ptr<ImageSource> images_for(const models::Model& model) {
  const bool classifies = model.loss == models::Loss::cross_entropy;
  return test_images_of(std::make_shared<data::DataSet>(classifies ? tests::labelled_data(1, kImages)
                                                                   : tests::tiny_data(1, kImages)));
}

/// Another source, with something done before each time it is read.
class WatchedSource : public ImageSource {
 public:
  WatchedSource(std::unique_ptr<ImageSource> source, std::function<void(int)> before_reading)
      : source_(std::move(source)), before_reading_(std::move(before_reading)) {}
  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    before_reading_(reads_++);
    return source_->read(most, pixels);
  }
  std::int64_t count() const override { return source_->count(); }
  std::string title() const override { return source_->title(); }

 private:
  std::unique_ptr<ImageSource> source_;
  std::function<void(int)> before_reading_;
  int reads_ = 0;
};

Inference network_of(const models::Model& model, int batch, const std::shared_ptr<core::Device>& device,
                     core::Stream& stream, const plan::Selection& selection) {
  return {model, models::initial_parameters(model, 3), selection, batch, device, stream};
}

void expect_same(const Outcome& found, const Outcome& wanted) {
  ASSERT_EQ(found.answers.size(), wanted.answers.size());
  for (std::size_t i = 0; i < found.answers.size(); ++i) {
    const Answer &one = found.answers[i], &other = wanted.answers[i];
    EXPECT_EQ(one.image.index, other.image.index) << i;
    EXPECT_EQ(one.image.label, other.image.label) << i;
    EXPECT_EQ(one.mse, other.mse) << i;
    ASSERT_EQ(one.guesses.size(), other.guesses.size()) << i;
    for (std::size_t n = 0; n < one.guesses.size(); ++n) {
      EXPECT_EQ(one.guesses[n].label, other.guesses[n].label) << i;
      EXPECT_EQ(one.guesses[n].probability, other.guesses[n].probability) << i;
    }
  }
  EXPECT_EQ(found.accuracy, wanted.accuracy);
  EXPECT_EQ(found.mse, wanted.mse);
}

class OverlapOn : public testing::TestWithParam<tests::Streams> {
 protected:
  void SetUp() override {
    if (!device) GTEST_SKIP() << core::cuda_unavailable_reason();
    stream = device->make_stream();
    selection = tests::plain_selection(GetParam());
  }
  Inference network_for(const models::Model& model, int batch) {
    return network_of(model, batch, device, *stream, selection);
  }

  std::shared_ptr<core::Device> device = tests::device_of(GetParam());
  std::unique_ptr<core::Stream> stream;
  plan::Selection selection;
};

INSTANTIATE_TEST_SUITE_P(Streams, OverlapOn, testing::ValuesIn(tests::kAllStreams),
                         [](const auto& which) { return tests::name_of(which.param); });

TEST_P(OverlapOn, GivesTheSameAnswersAsOneBatchAtATime) {
  for (const models::Model& model : {tests::tiny_classifier(), tests::tiny_model()}) {
    for (const int batch : {1, 4, 8, 36, 37, 40}) {  // most with a last batch that is not full
      Inference network = network_for(model, batch);
      const Outcome wanted = network.run(*images_for(model), {}, Pace::one_by_one);
      EXPECT_EQ(wanted.answers.size(), std::size_t{kImages});
      for (int again = 0; again < 2; ++again) {
        const Outcome found = network.run(*images_for(model));
        expect_same(found, wanted);
        EXPECT_EQ(found.batches, wanted.batches);
      }
    }
  }
}

TEST_P(OverlapOn, HasFiguresThatBelongTogether) {
  const models::Model model = tests::tiny_classifier();
  for (const Pace pace : {Pace::overlapped, Pace::one_by_one}) {
    Inference network = network_for(model, 4);
    const Outcome found = network.run(*images_for(model), {}, pace);
    EXPECT_EQ(found.batches, 10);
    EXPECT_GT(found.device_seconds, 0);
    // One stream works on one batch at a time, and another brings the next.
    EXPECT_LT(found.device_seconds, found.seconds);
    EXPECT_NEAR(found.images_per_second() * found.seconds, kImages, 1e-9);
    EXPECT_NEAR(found.device_images_per_second() * found.device_seconds, kImages, 1e-9);
    EXPECT_NEAR(found.network_images_per_second() * found.network.median, 4e6, 1e-3);
    EXPECT_GE(found.total.median, found.network.median);
    EXPECT_GE(found.seconds * 1e6, found.total.p99);
    for (const LayerLatency& layer : found.layers) {
      EXPECT_EQ(layer.time.median > 0, layer.inside.empty()) << layer.layer;
    }
  }
}

TEST_P(OverlapOn, AnInterruptedRunHasTheAnswersOfAllThatWasRead) {
  const models::Model model = tests::tiny_classifier();
  Inference network = network_for(model, 8);
  const Outcome whole = network.run(*images_for(model));
  for (const std::int64_t end : {0, 8, 16, 32, 37}) {
    std::vector<std::int64_t> seen;
    const auto source = images_for(model);
    Outcome found = network.run(*source, [&](std::int64_t asked) {
      seen.push_back(asked);
      return asked < end;
    });
    EXPECT_TRUE(found.interrupted);
    ASSERT_EQ(found.answers.size(), static_cast<std::size_t>(end));
    EXPECT_EQ(seen.back(), end);
    EXPECT_EQ(found.batches, (end + 7) / 8);
    Outcome wanted;
    wanted.answers.assign(whole.answers.begin(), whole.answers.begin() + end);
    found.accuracy.reset();
    expect_same(found, wanted);
    EXPECT_EQ(found.layers.front().time.median > 0, end > 0);
    EXPECT_EQ(found.seconds > 0, end > 0);
  }
}

TEST_P(OverlapOn, AfterASourceThatFailsTheNetworkAnswersAsBefore) {
  const models::Model model = tests::tiny_classifier();
  Inference network = network_for(model, 8);
  const Outcome wanted = network.run(*images_for(model));
  for (const int last : {0, 1, 2}) {
    WatchedSource failing(images_for(model), [&](int reads) {
      if (reads == last) throw std::runtime_error("the disk is gone");
    });
    EXPECT_THROW(network.run(failing), std::runtime_error);
    expect_same(network.run(*images_for(model)), wanted);
  }
}

TEST_P(OverlapOn, WeightsInSixteenBitsAreCastOnceForAllBatches) {
  const models::Model model = tests::tiny_classifier();
  const Outcome wide = network_for(model, 8).run(*images_for(model));
  selection.precision = core::Precision::bf16;
  Inference network = network_for(model, 8);
  const Outcome found = network.run(*images_for(model));
  expect_same(network.run(*images_for(model), {}, Pace::one_by_one), found);
  ASSERT_EQ(found.answers.size(), wide.answers.size());
  for (std::size_t i = 0; i < found.answers.size(); ++i) {
    for (const Guess& guess : found.answers[i].guesses) {
      for (const Guess& other : wide.answers[i].guesses) {
        if (other.label != guess.label) continue;
        EXPECT_NEAR(guess.probability, other.probability, 0.03) << i;
      }
    }
  }
  ASSERT_EQ(found.layers.size(), wide.layers.size());
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    EXPECT_EQ(found.layers[i].layer, wide.layers[i].layer);
    EXPECT_EQ(found.layers[i].time.median > 0, found.layers[i].inside.empty()) << found.layers[i].layer;
  }
}

TEST(OverlapTest, TheNextBatchIsReadBeforeTheDeviceHasBegunTheOneBefore) {
  for (const Pace pace : {Pace::overlapped, Pace::one_by_one}) {
    const auto device = std::make_shared<tests::AsyncDevice>();
    const auto stream = device->make_stream();
    const models::Model model = tests::tiny_classifier();
    Inference network = network_of(model, 8, device, *stream, tests::all_of("loops"));
    tests::Hold hold(nullptr, [](tests::Gate*) {});
    int read_meanwhile = 0;
    WatchedSource source(images_for(model), [&](int reads) {
      if (reads == 0) hold = device->hold();
      if (hold) ++read_meanwhile;
    });
    device->before_waiting = [&] { hold.reset(); };
    const Outcome found = network.run(source, {}, pace);
    EXPECT_EQ(read_meanwhile, pace == Pace::overlapped ? 2 : 1);
    EXPECT_EQ(found.answers.size(), std::size_t{kImages});
  }
}

}  // namespace
}  // namespace warpscope::inference::overlap_test
