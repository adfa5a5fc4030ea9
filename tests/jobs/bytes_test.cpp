#include <cstdint>

#include <gtest/gtest.h>

#include "gpu/jobs/bytes_of_jobs.h"
#include "tests/support/damaged_message.h"
#include "tests/support/random_job.h"
#include "tests/support/random_message.h"

namespace warpscope::jobs::bytes_test {
namespace {

template <class T>
void expect_comes_back(std::uint32_t seed) {
  const T sent = tests::RandomMessage(seed).make<T>();
  training::MessageWriter writer;
  EXPECT_TRUE(tests::same(training::MessageReader().read<T>(writer.write(sent)), sent)) << seed;
}

TEST(JobMessages, ComeBackAsTheyWereSent) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    expect_comes_back<Request>(seed);
    expect_comes_back<States>(seed);
  }
}

TEST(JobMessages, AreReadWithoutHarmWhateverTheirBytes) {
  tests::read_damaged<Request>();
  tests::read_damaged<States>();
}

template <class T>
void expect_refused(const char* why, void (*spoil)(T&)) {
  EXPECT_TRUE(
      tests::holds(tests::refusal_of<T>(spoil), {"a message from the other process is damaged", why}));
}

TEST(JobMessages, ThatAreInconsistentAreRefused) {
  expect_refused<classifiers::Metrics>("the confusion matrix", [](auto& metrics) { metrics.classes = 4; });
  expect_refused<features::TrialFigures>("no such classifier",
                                         [](auto& figures) { figures.classifier = "magic"; });
  expect_refused<features::TrialResult>("as many predictions",
                                        [](auto& result) { result.truth.push_back(0); });
  expect_refused<features::TrialResult>("missing", [](auto& result) { result.subject.data = nullptr; });
  expect_refused<features::TrialResult>("of no image", [](auto& result) { result.heaviest = {{-1, 1.0}}; });
  expect_refused<features::GridResult>("the table of a search", [](auto& grid) { grid.cs.push_back(1); });
  expect_refused<features::MapPicture>("what made a map", [](auto& map) { map.facts = nullptr; });
  expect_refused<features::MapPicture>("as many points", [](auto& map) { map.places.push_back(0); });
  expect_refused<StepScene>("the network of a step", [](auto& scene) { scene.model.layers.pop_back(); });
  expect_refused<StepScene>("the network of a step", [](auto& scene) { scene.model = {}; });
  expect_refused<StepScene>("a step has no images", [](auto& scene) { scene.setup.batch = 0; });
  expect_refused<Request>("a step has no images", [](auto& request) {
    Baseline baseline{{models::find_model("mlp"), {}, {}}};
    baseline.scene.setup.optimizer.accumulate = -1;
    request = baseline;
  });
}

}  // namespace
}  // namespace warpscope::jobs::bytes_test
