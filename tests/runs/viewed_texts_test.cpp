// What a run over texts shows of its predictions: the texts that its kept bytes stand for.

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/data/text_encoding.h"
#include "gpu/models/model.h"
#include "gpu/runs/run_predictions.h"
#include "gpu/runs/run_source.h"
#include "tests/core/temporary_folder.h"
#include "tests/runs/run_maker.h"
#include "tests/support/waiting.h"

namespace warpscope::runs::viewed_texts_test {
namespace {

/// What is shown of a finished run of this model, which was wrong about these texts; they are stored as of char_cnn.
std::shared_ptr<const data::DataSet> shown(const std::string& model, const std::vector<std::string>& texts) {
  const models::Model network = models::find_model("char_cnn");
  const data::Alphabet characters(network.alphabet);
  data::ImageSet set{1, network.width, 1, static_cast<std::int64_t>(texts.size()), {}, {}};
  for (const std::string& text : texts) {
    const auto bytes = characters.encode(text, network.width);
    set.pixels.insert(set.pixels.end(), bytes.begin(), bytes.end());
    set.labels.push_back(0);
  }
  training::Evaluation evaluation;
  evaluation.step = 10;
  evaluation.classes = 2;
  evaluation.image_losses.assign(texts.size(), 1.0f);
  evaluation.predicted.assign(texts.size(), 1);
  training::summarize(evaluation, set.labels.data());

  const tests::TemporaryFolder folder;
  nlohmann::json head = tests::run_head("finished");
  head["classifies"] = true;
  head["classes"] = {"World", "Sports"};
  head["configuration"]["model"] = model;
  tests::make_run(folder.path(), head, tests::step_line(10, 0.5) + tests::test_line(10, 0.25));
  training::RunPredictions(folder.path()).write(training::worst_predictions(evaluation, set, 0));
  RunSource source(folder.path());
  EXPECT_TRUE(tests::eventually([&] {
    const auto now = source.snapshot();
    return now->evaluation && !now->evaluation->predicted.empty();
  }));
  return source.snapshot()->data->whole;
}

TEST(ViewedTexts, AreReadFromTheKeptBytes) {
  const auto data = shown("char_cnn", {"Oil prices fall", "", "a\xc3\xa9z"});
  ASSERT_TRUE(data);
  EXPECT_EQ(data->test.texts, (std::vector<std::string>{"oil\xc2\xb7prices\xc2\xb7"
                                                        "fall",
                                                        "", "a\xc2\xb7z"}))
      << "small letters, and a dot for what is not in the alphabet, as the space";
}

TEST(ViewedTexts, StayBytesWhereTheModelIsNotKnown) {
  const auto data = shown("a model of later", {"oil"});
  ASSERT_TRUE(data);
  EXPECT_EQ(data->test.count, 1);
  EXPECT_TRUE(data->test.texts.empty());
}

TEST(ViewedTexts, AreNotMadeOfImages) {
  const auto data = shown("classifier", {"oil"});
  ASSERT_TRUE(data);
  EXPECT_EQ(data->test.count, 1);
  EXPECT_TRUE(data->test.texts.empty());
}

}  // namespace
}  // namespace warpscope::runs::viewed_texts_test
