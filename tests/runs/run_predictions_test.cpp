#include "gpu/runs/run_predictions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/runs/run_images.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::run_predictions_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// So many images of 3 x 5 pixels, of three classes in turn.
data::ImageSet images_of(int count, int channels) {
  data::ImageSet set{3, 5, channels, count, {}, {}};
  for (std::int64_t i = 0; i < count * set.image_bytes(); ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
  }
  for (int i = 0; i < count; ++i) set.labels.push_back(static_cast<std::uint8_t>(i % 3));
  return set;
}

/// An evaluation of them: the later the image the larger its loss, and every fourth is wrong.
Evaluation evaluation_of(const data::ImageSet& set, std::uint64_t step) {
  Evaluation evaluation;
  evaluation.step = step;
  evaluation.epoch = 1.25;
  evaluation.classes = 3;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    evaluation.image_losses.push_back(0.01f * static_cast<float>(i));
    evaluation.predicted.push_back(static_cast<std::uint8_t>((set.labels[i] + (i % 4 == 3)) % 3));
  }
  summarize(evaluation, set.labels.data());
  return evaluation;
}

Predictions predictions_at(std::uint64_t step, int count = 40, int channels = 1,
                           std::uint64_t generation = 0) {
  const data::ImageSet set = images_of(count, channels);
  return worst_predictions(evaluation_of(set, step), set, generation);
}

fs::path index_path(const fs::path& run) {
  return run / "images" / "predictions.json";
}

/// Refused, with a sentence that names the file.
void expect_refused(const fs::path& run, const std::string& why, const char* file = "/images/predictions") {
  const std::string message = tests::message_of<core::BadInput>([&] { read_predictions(run); });
  EXPECT_NE(message.find(file), std::string::npos) << why << ": " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(RunPredictions, ComeBackAsTheyWere) {
  for (const int channels : {1, 3}) {
    for (const int count : {1, 7, 40, 256}) {
      const tests::TemporaryFolder run;
      data::ImageSet set = images_of(count, channels);
      Evaluation evaluation = evaluation_of(set, 1234);
      evaluation.split = Split::validation;
      RunPredictions(run.path()).write(worst_predictions(evaluation, set, 3));
      const Predictions back = read_predictions(run.path());
      EXPECT_EQ(back.generation, 3u);
      EXPECT_EQ(back.evaluation.split, Split::validation);
      EXPECT_EQ(back.evaluation.step, 1234u);
      EXPECT_EQ(back.evaluation.epoch, 1.25);
      EXPECT_EQ(back.evaluation.loss, evaluation.loss);
      EXPECT_EQ(back.evaluation.accuracy, evaluation.accuracy);
      EXPECT_EQ(back.evaluation.classes, 3);
      EXPECT_EQ(back.evaluation.confusion, evaluation.confusion);
      EXPECT_EQ(back.evaluation.image_losses, evaluation.image_losses);
      EXPECT_EQ(back.evaluation.predicted, evaluation.predicted);
      EXPECT_EQ(back.images.shape(), set.shape());
      EXPECT_EQ(back.images.count, count);
      EXPECT_EQ(back.images.pixels, set.pixels);
      EXPECT_EQ(back.images.labels, set.labels);
      EXPECT_EQ(back.evaluation.positions.size(), static_cast<std::size_t>(count));
      EXPECT_EQ(back.evaluation.positions.back(), static_cast<std::uint32_t>(count - 1));
    }
  }
}

TEST(RunPredictions, LossesThatAreNotFiniteComeBackAsNan) {
  const tests::TemporaryFolder run;
  const data::ImageSet set = images_of(5, 3);
  Evaluation evaluation = evaluation_of(set, 1);
  evaluation.image_losses = {0.5f, kNan, kInfinity, 0.125f, std::numeric_limits<float>::max()};
  evaluation.loss = std::nan("");
  RunPredictions(run.path()).write(worst_predictions(evaluation, set, 0));
  const Evaluation back = read_predictions(run.path()).evaluation;
  EXPECT_EQ(back.image_losses[0], 0.5f);
  EXPECT_TRUE(std::isnan(back.image_losses[1]));
  EXPECT_TRUE(std::isnan(back.image_losses[2]));
  EXPECT_EQ(back.image_losses[4], std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(back.loss));
}

TEST(RunPredictions, TheWorstOfManyStayInStoredOrderWithTheFiguresOfAll) {
  const tests::TemporaryFolder run;
  const data::ImageSet set = images_of(1000, 1);
  Evaluation evaluation = evaluation_of(set, 9);
  evaluation.image_losses[2] = kNan;
  for (std::size_t i = 700; i < 800; ++i) evaluation.image_losses[i] = 7.45f;  // the limit falls among equals
  RunPredictions(run.path()).write(worst_predictions(evaluation, set, 0));
  const Predictions back = read_predictions(run.path());
  ASSERT_EQ(back.images.count, 256);
  const std::vector<std::uint32_t>& places = back.evaluation.positions;
  EXPECT_EQ(places.front(), 2u);
  EXPECT_EQ(places[1], 700u);
  EXPECT_EQ(places[55], 754u) << "of equal losses the first";
  EXPECT_EQ(places[56], 800u);
  EXPECT_EQ(places.back(), 999u);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(back.images.labels[i], set.labels[places[i]]);
    EXPECT_EQ(back.evaluation.predicted[i], evaluation.predicted[places[i]]);
    EXPECT_TRUE(std::equal(back.images.pixels.begin() + static_cast<std::ptrdiff_t>(i) * 15,
                           back.images.pixels.begin() + static_cast<std::ptrdiff_t>(i + 1) * 15,
                           set.pixels.begin() + static_cast<std::ptrdiff_t>(places[i]) * 15));
  }
  EXPECT_EQ(back.evaluation.confusion, evaluation.confusion);
}

TEST(RunPredictions, NewerOnesTakeTheirPlaceAndPicturesOfRunsStay) {
  const tests::TemporaryFolder run;
  ShownImages shown;
  shown.shape = {1, 2, 2, 1};
  shown.original = shown.reconstruction = std::vector<float>(4, 0.5f);
  shown.errors = {0.1f};
  RunImages pictures(run.path());
  pictures.write(shown);
  RunPredictions writer(run.path());
  writer.write(predictions_at(5));
  writer.write(predictions_at(7));
  EXPECT_EQ(read_predictions(run.path()).evaluation.step, 7u);
  EXPECT_FALSE(fs::exists(run.path() / "images" / predictions_name(5)));
  shown.step = 1;
  pictures.write(shown);
  EXPECT_EQ(read_image_index(run.path()).pictures.size(), 2u);
  EXPECT_EQ(read_predictions(run.path()).evaluation.step, 7u) << "each knows only its own files";
  EXPECT_EQ(tests::count_entries(run.path() / "images"), 6);
}

TEST(RunPredictions, AnotherProcessTakesOver) {
  const tests::TemporaryFolder run;
  RunPredictions(run.path()).write(predictions_at(5));
  tests::write_text(run.path() / "images" / ".predictions.json.1-1.tmp", "left by a killed process");
  RunPredictions(run.path()).write(predictions_at(3, 40, 1, 1));
  EXPECT_EQ(read_predictions(run.path()).generation, 1u);
  EXPECT_EQ(tests::count_entries(run.path() / "images"), 2);
}

TEST(RunPredictions, WhatIsNotThereIsRefused) {
  const tests::TemporaryFolder run;
  expect_refused(run.path(), "nothing");
  RunPredictions(run.path()).write(predictions_at(5));
  fs::remove(run.path() / "images" / predictions_name(5));
  expect_refused(run.path(), "no picture", "predictions-000000005.png");
}

/// A run with predictions, whose index can be changed.
class DamagedPredictions : public testing::Test {
 protected:
  void SetUp() override {
    RunPredictions(run.path()).write(predictions_at(5));
    whole = json::parse(tests::read_text(index_path(run.path())));
  }
  void expect_refused_as(const json& changed, const std::string& why) const {
    tests::write_text(index_path(run.path()), changed.dump());
    expect_refused(run.path(), why);
  }

  const tests::TemporaryFolder run;
  json whole;
};

TEST_F(DamagedPredictions, EachFieldIsRefused) {
  for (const auto& [key, value] : whole.items()) {
    json without = whole;
    without.erase(key);
    expect_refused_as(without, "without " + key);
    for (const json& bad : {json(-1), json(1e300), json("x"), json::object(), json::array(), json(true)}) {
      if (key == "epoch" && bad == json(1e300)) continue;  // as good a number as any
      if (key == "loss" && bad.is_number()) continue;
      json changed = whole;
      changed[key] = bad;
      expect_refused_as(changed, key + " " + bad.dump());
    }
  }
  tests::write_text(index_path(run.path()), whole.dump());
  EXPECT_NO_THROW(read_predictions(run.path()));
}

TEST_F(DamagedPredictions, EachFieldOfAnImageIsRefused) {
  for (const char* key : {"position", "truth", "predicted", "loss"}) {
    for (const json& bad : {json(-1), json(40), json(1e300), json("x"), json::object(), json::array()}) {
      if (std::string(key) == "loss" && (bad == json(-1) || bad == json(40))) continue;
      json changed = whole;
      changed["images"][3][key] = bad;
      expect_refused_as(changed, key + bad.dump());
    }
    json without = whole;
    without["images"][3].erase(key);
    expect_refused_as(without, key);
  }
  json changed = whole;
  changed["images"][3] = 7;
  expect_refused_as(changed, "no object");
}

TEST_F(DamagedPredictions, WhatContradictsItselfIsRefused) {
  const auto with = [&](const char* key, const json& value) {
    json changed = whole;
    changed[key] = value;
    return changed;
  };
  expect_refused_as(with("step", 6), "another picture's step");
  expect_refused_as(with("width", 6), "another width");
  expect_refused_as(with("channels", 3), "other channels");
  expect_refused_as(with("columns", 8), "other columns");
  expect_refused_as(with("columns", 41), "more columns than images");
  expect_refused_as(with("classes", 4), "a table of other classes");
  expect_refused_as(with("classes", 257), "more classes than a byte numbers");
  expect_refused_as(with("confusion", std::vector<int>(9, 0)), "nothing was looked at");
  expect_refused_as(with("confusion", {40, 0, 0, 0, 0, 0, 0, 0, 0}), "counts of other images");
  expect_refused_as(with("confusion", std::vector<std::uint64_t>(9, 1ull << 32)), "counts without a place");
  json shorter = whole;
  shorter["images"].erase(0);
  expect_refused_as(shorter, "fewer images than the picture has");
  json longer = whole;
  longer["images"] = std::vector<json>(257, whole["images"][0]);
  expect_refused_as(longer, "more images than are kept");
  json unordered = whole;
  std::swap(unordered["images"][3], unordered["images"][4]);
  expect_refused_as(unordered, "not in stored order");
  json huge = whole;
  huge["height"] = huge["width"] = 4096;
  expect_refused_as(huge, "more pixels than are kept");
}

TEST_F(DamagedPredictions, WhatIsNoIndexIsRefused) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("7"), std::string("{\"step\":"),
        std::string(500'000, '['), std::string((1 << 20) + 1, ' ')}) {
    tests::write_text(index_path(run.path()), text);
    expect_refused(run.path(), text.substr(0, 20));
  }
  // Deep enough to overflow a stack if it were followed down.
  json deep = whole;
  deep["height"] = "HERE";
  std::string text = deep.dump();
  text.replace(text.find("\"HERE\""), 6, std::string(400'000, '[') + std::string(400'000, ']'));
  tests::write_text(index_path(run.path()), text);
  expect_refused(run.path(), "deep");
}

TEST_F(DamagedPredictions, AnyByteThatChangesIsRefusedOrRead) {
  const fs::path path = index_path(run.path());
  const std::string text = tests::read_text(path);
  tests::FilePatch file(path);
  std::size_t refused = 0, taken = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::array others{'9', '"', static_cast<char>(text[i] ^ 1), '\xff'};
    file.put(i, others[i % others.size()]);
    try {
      const Predictions read = read_predictions(run.path());
      EXPECT_EQ(read.images.pixels.size(), 40u * 15u);
      EXPECT_EQ(read.evaluation.confusion.size(), 9u);
      ++taken;
    } catch (const core::BadInput& error) {
      EXPECT_NE(std::string(error.what()).find("predictions"), std::string::npos) << error.what();
      ++refused;
    }
    file.put(i, text[i]);
  }
  EXPECT_GT(refused, text.size() / 4) << "much of the text is names and marks";
  EXPECT_GT(taken, 0u) << "another digit of a number is no damage";
  for (std::size_t bytes = text.size() / 3 * 3; bytes > 0; bytes -= 3) {
    if (bytes + 2 >= text.size()) continue;
    fs::resize_file(path, bytes);
    expect_refused(run.path(), "cut off");
  }
  fs::resize_file(path, 0);
  expect_refused(run.path(), "cut off");
}

TEST_F(DamagedPredictions, AnyByteOfThePictureThatChangesIsRefused) {
  const fs::path picture = run.path() / "images" / predictions_name(5);
  const std::string png = tests::read_text(picture);
  tests::FilePatch file(picture);
  for (std::size_t i = 0; i < png.size(); ++i) {
    file.put(i, static_cast<char>(png[i] ^ 0x10));
    expect_refused(run.path(), "byte", "predictions-000000005.png");
    file.put(i, png[i]);
  }
  tests::write_text(picture, png + std::string(1 << 17, 'x'));
  expect_refused(run.path(), "too large", "predictions-000000005.png");
}

}  // namespace
}  // namespace warpscope::training::run_predictions_test
