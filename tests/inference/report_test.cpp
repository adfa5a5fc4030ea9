#include "gpu/inference/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::inference::report_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Answer classified(std::int64_t index, const std::string& file, int label, std::vector<Guess> guesses) {
  Answer answer;
  answer.image = {index, file, label};
  answer.guesses = std::move(guesses);
  return answer;
}

Answer reconstructed(std::int64_t index, double mse) {
  Answer answer;
  answer.image = {index, "", 2};
  answer.mse = mse;
  answer.psnr = psnr_of(mse);
  return answer;
}

TEST(Guesses, AreTheSoftmaxOfTheGreatestLogits) {
  const std::vector<double> logits{1, 3, -2, 3, 2};
  const std::vector<Guess> guesses = best_guesses(logits);
  ASSERT_EQ(guesses.size(), 3u);
  const double sum = std::exp(1) + 2 * std::exp(3) + std::exp(-2) + std::exp(2);
  EXPECT_EQ(guesses[0].label, 1);  // of equal ones the lower
  EXPECT_EQ(guesses[1].label, 3);
  EXPECT_EQ(guesses[2].label, 4);
  EXPECT_NEAR(guesses[0].probability, std::exp(3) / sum, 1e-14);
  EXPECT_NEAR(guesses[2].probability, std::exp(2) / sum, 1e-14);
}

TEST(Guesses, OfManyClassesAreTheFirstOfAllThatAreSorted) {
  std::vector<double> logits;
  for (std::uint64_t i = 0; i < 100; ++i) logits.push_back(static_cast<double>(core::random_bits(3, i) % 40));
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  for (const std::size_t most : {0u, 1u, 3u, 20u, 100u, 200u}) {
    const std::vector<Guess> guesses = best_guesses(logits, most);
    ASSERT_EQ(guesses.size(), std::min(most, logits.size()));
    for (std::size_t i = 0; i < guesses.size(); ++i)
      EXPECT_EQ(guesses[i].label, order[i]) << most << ' ' << i;
  }
  EXPECT_TRUE(best_guesses({}).empty());
}

TEST(Guesses, OfVeryLargeLogitsAreNumbersAndOfNanNone) {
  const auto large = best_guesses(std::vector<double>{-1e5, 1e5, 1e5 - 1}, 5);
  ASSERT_EQ(large.size(), 3u);
  EXPECT_NEAR(large[0].probability, 1 / (1 + std::exp(-1)), 1e-10);
  EXPECT_EQ(large[2].probability, 0);
  const auto none = best_guesses(std::vector<double>{1, 2, kNan, 4});
  EXPECT_EQ(none[0].label, 0);
  EXPECT_TRUE(std::isnan(none[0].probability));
  EXPECT_EQ(best_guesses(std::vector<double>{1, -kInfinity, 0})[2].probability, 0);
}

TEST(PsnrTest, IsThatOfTheCurves) {
  EXPECT_NEAR(psnr_of(0.01), 20, 1e-12);
  EXPECT_NEAR(psnr_of(0), 120, 1e-12);
  EXPECT_TRUE(std::isnan(psnr_of(kNan)));
}

TEST(Report, OfAClassifierHasARowAnImage) {
  const Subject subject{"w", "m", "d", "cpu", "fp32", {"cat, tame", "dog"}};
  Outcome outcome;
  outcome.answers = {classified(0, "a,\"b\".png", -1, {{1, 0.75}, {0, 0.25}}),
                     classified(1, "c.png", -1, {{2, 0.5}, {0, 0.5}})};
  outcome.guesses = 2;
  EXPECT_EQ(csv_of(subject, outcome),
            "file,class,probability,second,second_probability\n"
            "\"a,\"\"b\"\".png\",dog,0.75,\"cat, tame\",0.25\n"
            "c.png,2,0.5,\"cat, tame\",0.5\n");
  const nlohmann::json rows = nlohmann::json::parse(text_of(subject, outcome, RowFormat::json))["answers"];
  EXPECT_EQ(rows[0]["file"], "a,\"b\".png");
  EXPECT_EQ(rows[0]["class"], "dog");
  EXPECT_EQ(rows[0]["guesses"][1]["probability"], 0.25);
  EXPECT_FALSE(rows[0].contains("label"));
  EXPECT_EQ(rows[1]["class"], "2");

  for (Answer& answer : outcome.answers) answer.image = {answer.image.index, "", 0};
  EXPECT_EQ(csv_of(subject, outcome),
            "index,label,class,probability,second,second_probability\n"
            "0,\"cat, tame\",dog,0.75,\"cat, tame\",0.25\n"
            "1,\"cat, tame\",2,0.5,\"cat, tame\",0.5\n");
  EXPECT_EQ(answers_of(subject, outcome)["answers"][1]["label"], "cat, tame");
}

TEST(Report, OfTextsHasThemBesideTheirAnswers) {
  const Subject subject{"w", "m", "d", "cpu", "fp32", {"ham", "spam"}};
  Outcome outcome;
  outcome.answers = {classified(0, "", -1, {{1, 0.75}, {0, 0.25}}), classified(1, "", 1, {{0, 1}, {1, 0}})};
  outcome.guesses = 2;
  outcome.answers[0].image.text = "buy, \"now\"";
  outcome.answers[1].image.text = "a\xFFz";
  EXPECT_EQ(csv_of(subject, outcome),
            "index,text,label,class,probability,second,second_probability\n"
            "0,\"buy, \"\"now\"\"\",,spam,0.75,ham,0.25\n"
            "1,a\xEF\xBF\xBDz,spam,ham,1,spam,0\n");
  const nlohmann::json rows = nlohmann::json::parse(text_of(subject, outcome, RowFormat::json))["answers"];
  EXPECT_EQ(rows[0]["text"], "buy, \"now\"");
  EXPECT_EQ(rows[1]["text"], "a\xEF\xBF\xBDz");
}

TEST(Report, LeavesAnswersThatAreNotFiniteEmpty) {
  const Subject subject{"w", "m", "d", "cpu", "fp32", {"cat", "dog"}};
  Outcome outcome;
  outcome.guesses = 2;
  outcome.not_finite = 1;
  outcome.answers = {classified(0, "", 1, {}), classified(1, "", 0, {{1, 0.75}, {0, 0.25}})};
  EXPECT_EQ(csv_of(subject, outcome),
            "index,label,class,probability,second,second_probability\n0,dog,,,,\n1,cat,dog,0.75,cat,0.25\n");
  const nlohmann::json told = answers_of(subject, outcome);
  EXPECT_EQ(told["not_finite"], 1);
  EXPECT_TRUE(told["answers"][0]["class"].is_null());
  EXPECT_TRUE(told["answers"][0]["guesses"].empty());
  EXPECT_EQ(told["answers"][0]["label"], "dog");
  Outcome errors;
  errors.answers = {reconstructed(0, kInfinity)};
  EXPECT_EQ(csv_of({}, errors), "index,mse,psnr\n0,,\n");
}

TEST(Report, OfANetworkThatReconstructsHasTheErrors) {
  Outcome outcome;
  outcome.answers = {reconstructed(0, 0.25), reconstructed(1, 0)};
  outcome.mse = 0.125;
  outcome.psnr = kNan;
  EXPECT_EQ(csv_of({}, outcome), "index,mse,psnr\n0,0.25,6.020599913279624\n1,0,120\n");
  const nlohmann::json json = answers_of({}, outcome);
  EXPECT_EQ(json["answers"][0]["mse"], 0.25);
  EXPECT_EQ(json["mse"], 0.125);
  EXPECT_TRUE(json["psnr"].is_null());
  EXPECT_FALSE(json.contains("accuracy"));
}

TEST(Report, FiguresTellEachPart) {
  Outcome outcome;
  outcome.answers = {reconstructed(0, 1), reconstructed(1, 1), reconstructed(2, 1)};
  outcome.batch = 2;
  outcome.batches = 2;
  outcome.seconds = 1.5;
  outcome.device_seconds = 0.75;
  outcome.network = {20, 30};
  outcome.layers = {{"conv1", "", {5, 6}}, {"relu1", "conv1", {}}};
  outcome.refused = {"no"};
  const nlohmann::json json = figures_of({"w", "m", "d", "cpu", "fp32", {}}, outcome);
  EXPECT_EQ(json["images"], 3);
  EXPECT_EQ(json["images_per_second"], 2);
  EXPECT_EQ(json["device_images_per_second"], 4);
  EXPECT_EQ(json["network_images_per_second"], 100000);
  EXPECT_EQ(json["microseconds"]["network"]["p99"], 30);
  EXPECT_EQ(json["microseconds"]["layers"][0],
            (nlohmann::json{{"layer", "conv1"}, {"median", 5.0}, {"p99", 6.0}}));
  EXPECT_EQ(json["microseconds"]["layers"][1], (nlohmann::json{{"layer", "relu1"}, {"inside", "conv1"}}));
  EXPECT_EQ(json["refused"], nlohmann::json{"no"});
  EXPECT_FALSE(json.contains("answers"));
}

TEST(Report, FormatsAreToldByNameOrEnding) {
  EXPECT_EQ(row_format("", "a.csv"), RowFormat::csv);
  EXPECT_EQ(row_format("", "a.b.json"), RowFormat::json);
  EXPECT_EQ(row_format("json", "a.csv"), RowFormat::json);
  EXPECT_EQ(row_format("", "-"), RowFormat::csv);
  EXPECT_EQ(tests::message_of<core::BadInput>([] { row_format("", "a.pdf"); }),
            "there is no format 'pdf' of answers; valid: csv, json");
  EXPECT_TRUE(
      tests::holds(tests::message_of<core::BadInput>([] { row_format("", "a"); }), {"give --format"}));
}

}  // namespace
}  // namespace warpscope::inference::report_test
