#include "gpu/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/async_device.h"
#include "tests/support/double_network.h"
#include "tests/support/tiny_engine.h"

namespace warpscope::training::engine_test {
namespace {

using tests::all_of;
using tests::losses;
using tests::run_steps;

/// Each test runs on the CPU, whose streams do everything at once, and on one whose streams run behind.
class TinyEngine : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> make(EngineOptions options) {
    return std::make_unique<Engine>(std::move(options), data, device);
  }
  /// The test result that a direct computation gives.
  Evaluation expected_test(Engine& engine, std::int64_t images) const {
    const tests::DoubleNetwork network(tests::tiny_model());
    const std::vector<float> values = engine.parameters();
    const std::vector<double> parameters(values.begin(), values.end());
    Evaluation result;
    for (std::int64_t i = 0; i < images; ++i) {
      const double error = network.error(parameters, tests::image_of(data->test, i));
      result.loss += error / static_cast<double>(images);
      result.psnr -= 10 * std::log10(error) / static_cast<double>(images);
    }
    return result;
  }
  static std::shared_ptr<const Evaluation> run_test(Engine& engine) {
    engine.evaluator().start(Split::test);
    while (!engine.evaluator().enqueue_batch()) EXPECT_EQ(engine.evaluator().collect(), nullptr);
    engine.synchronize();
    auto result = engine.evaluator().collect();
    EXPECT_NE(result, nullptr);
    EXPECT_FALSE(engine.evaluator().running());
    return result;
  }

  const bool async = GetParam() == std::string("behind");
  const std::shared_ptr<data::DataSet> data = std::make_shared<data::DataSet>(tests::tiny_data());
  const std::shared_ptr<tests::AsyncDevice> behind = std::make_shared<tests::AsyncDevice>();
  const std::shared_ptr<core::Device> device = async ? behind : core::open_device("cpu");
};

INSTANTIATE_TEST_SUITE_P(Streams, TinyEngine, testing::Values("at_once", "behind"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(TinyEngine, StepIsPlainGradientDescent) {
  const auto engine = make(tests::tiny_engine_options());
  const std::vector<float> before = engine->parameters();
  EXPECT_EQ(before, models::initial_parameters(tests::tiny_model(), 5));
  run_steps(*engine, 1);
  const std::vector<float> gradients = engine->gradients();
  const std::vector<float> after = engine->parameters();
  float moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FLOAT_EQ(after[i], before[i] - 0.1f * gradients[i]);
    moved += std::abs(gradients[i]);
  }
  EXPECT_GT(moved, 0.1f);
}

TEST_P(TinyEngine, LossIsThatOfTheBatchBeforeTheStep) {
  EngineOptions options = tests::tiny_engine_options();
  options.shuffle = false;
  const auto engine = make(options);
  const tests::DoubleNetwork network(options.model);
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::vector<float> values = engine->parameters();
    const std::vector<double> parameters(values.begin(), values.end());
    std::vector<std::vector<double>> images;
    for (std::int64_t i = 0; i < 8; ++i) images.push_back(tests::image_of(data->train, (step * 8 + i) % 40));
    const auto results = run_steps(*engine, 1);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_NEAR(results[0].loss, network.loss(parameters, images), 1e-6) << "step " << step;
  }
}

TEST_P(TinyEngine, ReportsEveryStepOnceInOrder) {
  EngineOptions options = tests::tiny_engine_options();
  options.batch = 2;
  const auto engine = make(options);
  // More than the ring of records holds.
  const auto results = run_steps(*engine, 1100);
  ASSERT_EQ(results.size(), 1100u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].step, i + 1);
    ASSERT_EQ(results[i].batch, 2);
    ASSERT_EQ(results[i].learning_rate, 0.1f);
    ASSERT_NEAR(results[i].epoch, static_cast<double>(i + 1) / 20, 1e-9);
    ASSERT_EQ(results[i].step_seconds > 0, i > 0) << "step " << i;
  }
}

TEST_P(TinyEngine, TimesStepsOnlyWhenAsked) {
  const auto engine = make(tests::tiny_engine_options());
  for (const StepResult& result : run_steps(*engine, 5)) EXPECT_FALSE(result.timed);
  EXPECT_EQ(engine->timings().samples(), 0);
  int timed = 0;
  for (int i = 0; i < 4; ++i) {
    for (const StepResult& result : run_steps(*engine, 1, true)) timed += result.timed;
  }
  EXPECT_EQ(timed, 4);
  EXPECT_EQ(engine->timings().samples(), 4);
  for (const OpTiming& timing : engine->timings().timings()) {
    EXPECT_GT(timing.microseconds, 0) << ops::to_string(timing.op) << timing.layer;
    EXPECT_EQ(timing.variant, "loops");
  }
}

TEST_P(TinyEngine, InterruptedStepsHaveNoTime) {
  const auto engine = make(tests::tiny_engine_options());
  run_steps(*engine, 3);
  EXPECT_GT(run_steps(*engine, 1)[0].step_seconds, 0);
  engine->interrupt();
  const auto results = run_steps(*engine, 2);
  EXPECT_EQ(results[0].step_seconds, 0);
  EXPECT_GT(results[1].step_seconds, 0);
}

TEST_P(TinyEngine, SwitchingVariantsKeepsTheCurve) {
  const auto steady = make(tests::tiny_engine_options("reference"));
  const auto switched = make(tests::tiny_engine_options("reference"));
  const auto curve = losses(run_steps(*steady, 60));
  EXPECT_LT(curve.back(), curve.front() / 2) << "it learns";
  std::vector<float> changing;
  for (const char* variant : {"reference", "loops", "onednn", "reference", "onednn", "loops"}) {
    const std::vector<float> before = switched->parameters();
    switched->set_selection(all_of(variant));
    EXPECT_EQ(switched->parameters(), before) << "weights changed with the variant";
    for (const float loss : losses(run_steps(*switched, 10))) changing.push_back(loss);
  }
  ASSERT_EQ(changing.size(), curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_NEAR(changing[i], curve[i], 1e-4) << "step " << i;
}

TEST_P(TinyEngine, SwitchesWhileStepsAreUnderWay) {
  const auto steady = make(tests::tiny_engine_options("reference"));
  const auto switched = make(tests::tiny_engine_options("reference"));
  const auto curve = losses(run_steps(*steady, 200));
  std::vector<float> changing;
  for (int i = 0; i < 200; ++i) {
    switched->step(i % 3 == 0);
    if (i % 7 == 0) switched->set_selection(all_of(i % 2 == 0 ? "loops" : "reference"));
    for (const float loss : losses(switched->collect_steps(i % 5 == 0))) changing.push_back(loss);
  }
  for (const float loss : losses(run_steps(*switched, 0))) changing.push_back(loss);
  ASSERT_EQ(changing.size(), curve.size());
  for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_NEAR(changing[i], curve[i], 1e-4) << "step " << i;
}

TEST_P(TinyEngine, ASelectionThatCannotRunChangesNothing) {
  const auto engine = make(tests::tiny_engine_options());
  const auto twin = make(tests::tiny_engine_options());
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  plan::Selection bad = all_of("loops");
  bad.variants[ops::Op::relu_backward] = "winograd";
  EXPECT_THROW(engine->set_selection(bad), core::BadInput);
  bad = plan::Selection{core::Precision::fp16, {}};
  EXPECT_THROW(engine->set_selection(bad), core::BadInput);
  EXPECT_EQ(engine->options().selection, all_of("loops"));
  const auto results = run_steps(*engine, 5);
  EXPECT_GT(results[0].step_seconds, 0) << "not even the clock was interrupted";
  EXPECT_EQ(losses(results), losses(run_steps(*twin, 5)));
}

TEST_P(TinyEngine, ABatchThatCannotRunChangesNothing) {
  const auto engine = make(tests::tiny_engine_options());
  const auto twin = make(tests::tiny_engine_options());
  run_steps(*engine, 3);
  run_steps(*twin, 3);
  for (const int batch : {0, -1, 41}) {
    try {
      engine->set_batch(batch);
      ADD_FAILURE() << batch;
    } catch (const core::BadInput& error) {
      EXPECT_EQ(error.what(),
                "batch size " + std::to_string(batch) + " is not between 1 and the 40 training images");
    }
  }
  if (async) {
    behind->largest = 10'000;
    EXPECT_THROW(engine->set_batch(40), core::OutOfMemory);
  }
  EXPECT_EQ(engine->options().batch, 8);
  EXPECT_EQ(losses(run_steps(*engine, 5)), losses(run_steps(*twin, 5)));
}

// The images of a batch are known from its loss: the learning rate is 0, and each image has a loss of its
// own.
TEST_P(TinyEngine, VisitsEveryImageAtMostOnceAnEpochWhenTheBatchChanges) {
  EngineOptions options = tests::tiny_engine_options("reference");
  options.optimizer.learning_rate = 0;
  options.batch = 1;
  const auto engine = make(options);
  std::set<float> first_epoch;
  for (const float loss : losses(run_steps(*engine, 40))) first_epoch.insert(loss);
  ASSERT_EQ(first_epoch.size(), 40u);

  double left = 0;
  for (const float loss : first_epoch) left += static_cast<double>(loss);
  std::set<float> singles;
  for (const int batch : {7, 1, 5}) {
    engine->set_batch(batch);
    for (const StepResult& result : run_steps(*engine, batch == 7 ? 2 : batch == 1 ? 11 : 3)) {
      left -= batch * static_cast<double>(result.loss);
      if (batch == 1) singles.insert(result.loss);
    }
  }
  EXPECT_EQ(engine->epoch(), 2.0) << "14 + 11 + 15 images";
  EXPECT_EQ(singles.size(), 11u);
  EXPECT_NEAR(left, 0, 1e-5) << "the losses of the second epoch are not those of the 40 images";
}

TEST_P(TinyEngine, TheDeviceFollowsTheOrderThroughChangesOfTheBatch) {
  EngineOptions options = tests::tiny_engine_options("reference");
  options.optimizer.learning_rate = 0;
  const auto engine = make(options);
  const tests::DoubleNetwork network(options.model);
  const std::vector<float> values = engine->parameters();
  const std::vector<double> parameters(values.begin(), values.end());
  DataOrder order(40, options.seed, true);
  for (const int batch : {8, 3, 12, 1, 40, 7, 9}) {
    engine->set_batch(batch);
    order.set_batch(batch);
    for (int step = 0; step < 5; ++step) {
      order.begin_step();
      std::vector<std::vector<double>> images;
      for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(batch); ++i)
        images.push_back(tests::image_of(data->train, order.order()[order.position() + i]));
      order.end_step();
      const auto results = run_steps(*engine, 1);
      EXPECT_NEAR(results[0].loss, network.loss(parameters, images), 1e-6)
          << "batch " << batch << " step " << step;
      EXPECT_EQ(results[0].batch, batch);
      EXPECT_EQ(results[0].epoch, order.epoch());
    }
  }
}

TEST_P(TinyEngine, TestIsTheMeanOverTheTestImages) {
  // 7 does not divide 12: the last batch wraps around.
  for (const int batch : {7, 12, 40}) {
    EngineOptions options = tests::tiny_engine_options();
    options.batch = batch;
    const auto engine = make(options);
    run_steps(*engine, 9);
    const Evaluation wanted = expected_test(*engine, 12);
    const auto found = run_test(*engine);
    const Evaluation& result = *found;
    EXPECT_NEAR(result.loss, wanted.loss, 1e-6) << batch;
    EXPECT_NEAR(result.psnr, wanted.psnr, 1e-4) << batch;
    EXPECT_EQ(result.step, 9u);
    EXPECT_EQ(result.epoch, engine->epoch());
  }
}

TEST_P(TinyEngine, TestsAsManyImagesAsAskedFor) {
  for (const std::int64_t images : {1, 5, 12, 1000, 0}) {
    EngineOptions options = tests::tiny_engine_options();
    options.test_images = images;
    const auto engine = make(options);
    const std::int64_t used = std::clamp<std::int64_t>(images, 1, 12);
    EXPECT_EQ(engine->evaluator().images(Split::test), used);
    EXPECT_NEAR(run_test(*engine)->loss, expected_test(*engine, used).loss, 1e-6) << images;
  }
}

TEST_P(TinyEngine, TestSurvivesChangesInItsMiddle) {
  EngineOptions options = tests::tiny_engine_options();
  options.batch = 4;
  const auto engine = make(options);
  run_steps(*engine, 4);
  const Evaluation wanted = expected_test(*engine, 12);
  engine->evaluator().start(Split::test);
  engine->evaluator().enqueue_batch();
  engine->set_batch(5);
  engine->evaluator().enqueue_batch();
  engine->set_selection(all_of("reference"));
  while (!engine->evaluator().enqueue_batch()) {
  }
  engine->synchronize();
  const auto result = engine->evaluator().collect();
  ASSERT_NE(result, nullptr);
  EXPECT_NEAR(result->loss, wanted.loss, 1e-6);
}

TEST_P(TinyEngine, TestingDoesNotDisturbTraining) {
  const auto engine = make(tests::tiny_engine_options());
  const auto twin = make(tests::tiny_engine_options());
  std::vector<float> tested;
  for (int i = 0; i < 4; ++i) {
    for (const float loss : losses(run_steps(*engine, 3))) tested.push_back(loss);
    run_test(*engine);
  }
  EXPECT_EQ(tested, losses(run_steps(*twin, 12)));
}

TEST_P(TinyEngine, ResetGivesTheSameBitsAgain) {
  const auto engine = make(tests::tiny_engine_options());
  const auto first = losses(run_steps(*engine, 23));
  engine->step(false);
  engine->step(false);
  engine->evaluator().start(Split::test);
  engine->evaluator().enqueue_batch();
  engine->reset();
  EXPECT_EQ(engine->steps(), 0u);
  EXPECT_EQ(engine->epoch(), 0.0);
  EXPECT_FALSE(engine->evaluator().running());
  const auto again = run_steps(*engine, 23);
  EXPECT_EQ(again.front().step, 1u);
  EXPECT_EQ(again.front().step_seconds, 0);
  EXPECT_EQ(losses(again), first);
  EngineOptions other = tests::tiny_engine_options();
  other.seed = 6;
  EXPECT_NE(losses(run_steps(*make(other), 23)), first);
}

TEST_P(TinyEngine, PaddingStaysZero) {
  const auto engine = make(tests::tiny_engine_options());
  run_steps(*engine, 20);
  engine->set_selection(all_of("reference"));
  run_steps(*engine, 20);
  std::vector<float> parameters = engine->parameters();
  std::vector<float> gradients = engine->gradients();
  for (const models::Parameter& parameter : models::parameter_layout(tests::tiny_model()).parameters) {
    std::fill_n(parameters.begin() + static_cast<std::ptrdiff_t>(parameter.offset), parameter.elements, 0.0f);
    std::fill_n(gradients.begin() + static_cast<std::ptrdiff_t>(parameter.offset), parameter.elements, 0.0f);
  }
  const auto zero = [](float v) { return v == 0; };
  EXPECT_TRUE(std::all_of(parameters.begin(), parameters.end(), zero));
  EXPECT_TRUE(std::all_of(gradients.begin(), gradients.end(), zero));
}

TEST_P(TinyEngine, LearningRateTakesEffectAtTheNextStep) {
  const auto engine = make(tests::tiny_engine_options());
  run_steps(*engine, 2);
  const std::vector<float> before = engine->parameters();
  engine->set_learning_rate(0.5f);
  const auto results = run_steps(*engine, 2);
  EXPECT_EQ(results[0].learning_rate, 0.5f);
  EXPECT_EQ(results[1].learning_rate, 0.5f);
  EXPECT_GT(results[0].step_seconds, 0) << "a new rate interrupts nothing";
  engine->set_learning_rate(0);
  const std::vector<float> moved = engine->parameters();
  EXPECT_NE(moved, before);
  run_steps(*engine, 3);
  EXPECT_EQ(engine->parameters(), moved);
  for (const float bad : {-0.1f, std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_THROW(engine->set_learning_rate(bad), core::BadInput);
  EXPECT_EQ(run_steps(*engine, 1)[0].learning_rate, 0.0f);
}

TEST_P(TinyEngine, ManyNewRatesReachTheirSteps) {
  const auto engine = make(tests::tiny_engine_options());
  std::vector<StepResult> results;
  for (int i = 1; i <= 300; ++i) {
    engine->set_learning_rate(1e-4f * static_cast<float>(i));
    engine->step(false);
    for (const StepResult& result : engine->collect_steps(false)) results.push_back(result);
  }
  for (const StepResult& result : run_steps(*engine, 0)) results.push_back(result);
  ASSERT_EQ(results.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i)
    ASSERT_EQ(results[i].learning_rate, 1e-4f * static_cast<float>(i + 1)) << "step " << i;
}

TEST_P(TinyEngine, PublishesTheFirstTestImages) {
  EngineOptions options = tests::tiny_engine_options();
  options.shown_images = 5;
  const auto engine = make(options);
  const auto twin = make(tests::tiny_engine_options());
  ASSERT_NE(engine->pictures().exchange(), nullptr);
  EXPECT_EQ(engine->pictures().exchange()->shape().count, 5);
  run_steps(*engine, 6);
  EXPECT_TRUE(engine->pictures().publish());
  engine->synchronize();
  const ImageSlot* slot = engine->pictures().exchange()->acquire();
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->step, 6u);
  EXPECT_GT(engine->pictures().seconds(), 0);
  const tests::DoubleNetwork network(options.model);
  const std::vector<float> values = engine->parameters();
  const std::vector<double> parameters(values.begin(), values.end());
  for (std::size_t n = 0; n < 5; ++n) {
    const std::vector<double> image = tests::image_of(data->test, static_cast<std::int64_t>(n));
    const std::vector<double> output = network.reconstruct(parameters, image);
    for (std::size_t i = 0; i < image.size(); ++i) {
      ASSERT_FLOAT_EQ(slot->original.as<float>()[n * 192 + i], static_cast<float>(image[i]));
      ASSERT_NEAR(slot->reconstruction.as<float>()[n * 192 + i], output[i], 1e-5);
    }
    EXPECT_NEAR(slot->errors.as<float>()[n], network.error(parameters, image), 1e-6);
  }
  run_steps(*twin, 6);
  EXPECT_EQ(losses(run_steps(*engine, 6)), losses(run_steps(*twin, 6))) << "showing disturbs nothing";
  EXPECT_EQ(twin->pictures().exchange(), nullptr);
  EXPECT_FALSE(twin->pictures().publish());
}

TEST_P(TinyEngine, ShowingWhileTestingMixesNothingUp) {
  EngineOptions options = tests::tiny_engine_options();
  options.shown_images = 3;
  options.batch = 4;
  const auto engine = make(options);
  run_steps(*engine, 6);
  const Evaluation wanted = expected_test(*engine, 12);
  engine->evaluator().start(Split::test);
  do {
    engine->pictures().publish();
  } while (!engine->evaluator().enqueue_batch());
  engine->pictures().publish();
  engine->synchronize();
  const auto result = engine->evaluator().collect();
  ASSERT_NE(result, nullptr);
  EXPECT_NEAR(result->loss, wanted.loss, 1e-6);
}

TEST(Engine, SaysWhenThePicturesBeforeAreStillUnderWay) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  EngineOptions options = tests::tiny_engine_options();
  options.shown_images = 2;
  Engine engine(options, std::make_shared<data::DataSet>(tests::tiny_data()), device);
  auto held = device->hold();
  EXPECT_TRUE(engine.pictures().publish());
  EXPECT_FALSE(engine.pictures().publish()) << "nothing was published, so somebody must ask again";
  held.reset();
  engine.synchronize();
  EXPECT_TRUE(engine.pictures().publish());
}

/// How many of ten steps an engine enqueues on a device that does none of them, before it waits for one.
int steps_ahead(Engine& engine, tests::AsyncDevice& device) {
  int enqueued = 0, before_it_waited = 0;
  auto held = device.hold();
  device.before_waiting = [&] {
    if (held) before_it_waited = enqueued;
    held.reset();
  };
  for (; enqueued < 10; ++enqueued) engine.step(false);
  device.before_waiting = {};
  return before_it_waited;
}

TEST(Engine, LetsTwoStepsLieAheadBeforeItKnowsTheirTime) {
  const auto device = std::make_shared<tests::AsyncDevice>();
  Engine engine(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data(400, 12)),
                device);
  EXPECT_EQ(steps_ahead(engine, *device), 2);
}

TEST(Engine, LetsTwoStepsLieAheadIfEachTakesMoreThanAFewMilliseconds) {
  const auto device = std::make_shared<tests::AsyncDevice>(std::chrono::milliseconds(20));
  Engine engine(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data(400, 12)),
                device);
  run_steps(engine, 4);
  EXPECT_EQ(steps_ahead(engine, *device), 2);
}

TEST(Engine, FreesReplacedPlansBeforeItMakesNewOnes) {
  const auto device = core::open_device("cpu");
  Engine engine(tests::tiny_engine_options(), std::make_shared<data::DataSet>(tests::tiny_data()), device);
  run_steps(engine, 2);
  engine.set_selection(all_of("reference"));
  run_steps(engine, 2);
  const std::size_t before = device->memory().allocated_bytes;
  for (int i = 0; i < 10; ++i) {
    engine.set_selection(all_of(i % 2 == 0 ? "loops" : "reference"));
    run_steps(engine, 2);
  }
  EXPECT_EQ(device->memory().allocated_bytes, before) << "plans pile up";
}

/// What the engine says to options or data it cannot use.
std::string refusal(const EngineOptions& options, const data::DataSet& data) {
  try {
    Engine engine(options, std::make_shared<data::DataSet>(data), core::open_device("cpu"));
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Engine, RefusesWhatDoesNotFit) {
  const EngineOptions options = tests::tiny_engine_options();
  EXPECT_EQ(refusal(options, tests::tiny_data()), "");
  EngineOptions autoencoder = options;
  autoencoder.model = models::find_model("autoencoder");
  EXPECT_EQ(refusal(autoencoder, tests::tiny_data()),
            "tiny waves has images of 8x8x3, model autoencoder takes 32x32x3");
  EngineOptions batch = options;
  batch.batch = 0;
  EXPECT_EQ(refusal(batch, tests::tiny_data()), "batch size 0 is not between 1 and the 40 training images");
  EXPECT_EQ(refusal(options, tests::tiny_data(40, 0)), "tiny waves has no test images");
  EXPECT_EQ(refusal(options, tests::tiny_data(0, 12)),
            "batch size 8 is not between 1 and the 0 training images");
  EngineOptions init = options;
  init.init_file = "/nonexistent/weights.safetensors";
  EXPECT_NE(refusal(init, tests::tiny_data()).find("/nonexistent/weights.safetensors"), std::string::npos);
  EngineOptions broken = options;
  broken.model.layers[3].in_channels = 7;
  EXPECT_EQ(refusal(broken, tests::tiny_data()), "model tiny, layer conv2: takes 7 channels, gets 4");
}

TEST(Engine, TellsTheDeviceTheSeedAndTheStepThatWhatIsRandomFollowsFrom) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_data());
  EngineOptions options = tests::tiny_engine_options();
  options.seed = 0x123456789ABCDEFull;
  Engine engine(options, data, core::open_device("cpu"));
  run_steps(engine, 3);
  const EngineState state = engine.state();
  EXPECT_EQ(state.control.seed, options.seed);
  EXPECT_EQ(state.control.step, 3u);
  EngineState saved = state;
  saved.control = {};  // checkpoints keep neither
  saved.control.loss_scale = state.control.loss_scale;
  Engine resumed(options, data, core::open_device("cpu"));
  resumed.restore(saved);
  run_steps(resumed, 2);
  EXPECT_EQ(resumed.state().control.seed, options.seed);
  EXPECT_EQ(resumed.state().control.step, 5u);
}

// BF16 keeps 8 bits of each activation: its curve follows that of FP32 to some parts in a hundred.
TEST(Engine, TrainsInBf16AlongTheCurveOfFp32) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_data());
  EngineOptions options = tests::tiny_engine_options();
  Engine fp32(options, data, core::open_device("cpu"));
  options.selection = plan::with_precision(options.selection, core::Precision::bf16, fp32.device().info());
  Engine bf16(options, data, core::open_device("cpu"));
  const std::vector<float> expected = tests::losses(tests::run_steps(fp32, 60));
  const std::vector<float> got = tests::losses(tests::run_steps(bf16, 60));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0.05f * expected[i]) << i;
  EXPECT_NE(got, expected);
  EXPECT_LT(got.back(), 0.8f * got.front());
}

TEST(Engine, SwitchesPrecisionWhileItsWeightsGoOn) {
  const auto data = std::make_shared<data::DataSet>(tests::tiny_data());
  Engine engine(tests::tiny_engine_options(), data, core::open_device("cpu"));
  tests::run_steps(engine, 3);
  const std::vector<float> before = engine.parameters();
  const plan::Selection fp32 = engine.options().selection;
  engine.set_selection(plan::with_precision(fp32, core::Precision::bf16, engine.device().info()));
  EXPECT_EQ(engine.parameters(), before);
  tests::run_steps(engine, 3);
  engine.set_selection(fp32);
  EXPECT_NE(engine.parameters(), before);
  EXPECT_EQ(tests::run_steps(engine, 1).size(), 1u);
}

}  // namespace
}  // namespace warpscope::training::engine_test
