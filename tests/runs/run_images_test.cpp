#include "gpu/runs/run_images.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::training::run_images_test {
namespace {

namespace fs = std::filesystem;

/// Eleven images of 4 x 5 pixels: the last row of the grid is not full.
ShownImages images_at(std::uint64_t step, int channels = 3, std::uint64_t generation = 0) {
  ShownImages images;
  images.shape = {11, 4, 5, channels};
  images.step = step;
  images.generation = generation;
  for (std::size_t i = 0; i < images.shape.elements(); ++i) {
    images.original.push_back(static_cast<float>(i % 256) / 255.0f);
    images.reconstruction.push_back(static_cast<float>((i * 7 + step) % 256) / 255.0f);
  }
  for (int i = 0; i < images.shape.count; ++i) images.errors.push_back(0.001f * static_cast<float>(i + 1));
  return images;
}

std::vector<std::string> files_of(const fs::path& run) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run / "images")) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::uint64_t> steps_in(const ImageIndex& index) {
  std::vector<std::uint64_t> steps;
  for (const auto& picture : index.pictures) steps.push_back(picture.step);
  return steps;
}

TEST(RunImages, ComeBackAsTheyWere) {
  for (const int channels : {1, 3}) {
    const tests::TemporaryFolder run;
    const ShownImages images = images_at(1234, channels);
    RunImages(run.path()).write(images);
    EXPECT_EQ(files_of(run.path()),
              (std::vector<std::string>{"index.json", "originals.png", "step-000001234.png"}));
    const ImageIndex index = read_image_index(run.path());
    const ShownImages back = read_shown_images(run.path(), index, 0);
    EXPECT_EQ(back.step, 1234u);
    EXPECT_EQ(back.shape.count, 11);
    EXPECT_EQ(back.shape.channels, channels);
    EXPECT_EQ(back.original, images.original) << "multiples of 1/255 are exact";
    EXPECT_EQ(back.reconstruction, images.reconstruction);
    EXPECT_EQ(back.errors, images.errors);
  }
}

TEST(RunImages, ValuesBeyondTheRangeAreCutAndNanIsBlack) {
  const tests::TemporaryFolder run;
  ShownImages images = images_at(1);
  images.reconstruction[0] = 1.5f;
  images.reconstruction[1] = -3;
  images.reconstruction[2] = std::nanf("");
  images.errors[0] = std::nanf("");
  RunImages(run.path()).write(images);
  const ShownImages back = read_shown_images(run.path(), read_image_index(run.path()), 0);
  EXPECT_EQ(back.reconstruction[0], 1);
  EXPECT_EQ(back.reconstruction[1], 0);
  EXPECT_EQ(back.reconstruction[2], 0);
  EXPECT_TRUE(std::isnan(back.errors[0]));
}

TEST(RunImages, TheFolderStaysSmallAndTheFirstAndTheNewestStay) {
  const tests::TemporaryFolder run;
  RunImages writer(run.path());
  for (std::uint64_t step = 0; step <= 10000; step += 100) {
    writer.write(images_at(step));
    const ImageIndex index = read_image_index(run.path());
    EXPECT_EQ(index.pictures.front().step, 0u);
    EXPECT_EQ(index.pictures.back().step, step);
    EXPECT_LE(files_of(run.path()).size(), 20u);
  }
  const std::vector<std::uint64_t> steps = steps_in(read_image_index(run.path()));
  EXPECT_EQ(steps.size(), kMostPictures);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
  EXPECT_LE(steps[2] - steps[1], 300u) << "early pictures lie close";
  EXPECT_GE(steps[15] - steps[13], 1000u) << "late ones far apart";
  for (const std::uint64_t step : steps) EXPECT_TRUE(fs::exists(run.path() / "images" / picture_name(step)));
}

TEST(RunImages, LeastMissedIsNeverAnEnd) {
  EXPECT_EQ(least_missed({0, 1, 2}), 1u);
  EXPECT_EQ(least_missed({0, 100, 110, 1000}), 2u) << "1001/101 is a smaller gap than 111/1";
  EXPECT_EQ(least_missed({10, 11, 12, 1000, 100000}), 1u);
}

TEST(RunImages, GoOnInAnotherProcessAndDropWhatCameAfter) {
  const tests::TemporaryFolder run;
  {
    RunImages first(run.path());
    for (const std::uint64_t step : {0, 100, 200, 300}) first.write(images_at(step));
  }
  tests::write_text(run.path() / "images" / ".index.json.1-1.tmp", "left by a killed process");
  RunImages second(run.path());
  second.write(images_at(150));
  EXPECT_EQ(steps_in(read_image_index(run.path())), (std::vector<std::uint64_t>{0, 100, 150}));
  EXPECT_EQ(files_of(run.path()).size(), 5u) << "three pictures, originals, index";
}

TEST(RunImages, AResetBeginsAnew) {
  const tests::TemporaryFolder run;
  RunImages writer(run.path());
  for (const std::uint64_t step : {0, 100}) writer.write(images_at(step));
  writer.write(images_at(200, 3, 1));
  EXPECT_EQ(steps_in(read_image_index(run.path())), (std::vector<std::uint64_t>{200}));
  EXPECT_EQ(files_of(run.path()).size(), 3u);
}

TEST(RunImages, ADamagedIndexBeginsAnew) {
  const tests::TemporaryFolder run;
  RunImages(run.path()).write(images_at(5));
  tests::write_text(run.path() / "images" / "index.json", "{\"count\":");
  EXPECT_THROW(read_image_index(run.path()), core::BadInput);
  RunImages(run.path()).write(images_at(6));
  EXPECT_EQ(steps_in(read_image_index(run.path())), (std::vector<std::uint64_t>{6}));
}

TEST(RunImages, DamagedFilesAreRefusedWithASentence) {
  const tests::TemporaryFolder run;
  RunImages(run.path()).write(images_at(5));
  const ImageIndex index = read_image_index(run.path());
  const fs::path picture = run.path() / "images" / picture_name(5);
  const std::string whole = tests::read_text(picture);
  for (std::size_t bytes = 0; bytes + 12 < whole.size(); bytes += 3) {
    tests::write_text(picture, whole.substr(0, bytes));
    try {
      // Decoders fill in what is cut off at the very end; they may, but not fail.
      read_shown_images(run.path(), index, 0);
    } catch (const core::BadInput& error) {
      EXPECT_NE(std::string(error.what()).find("step-000000005.png"), std::string::npos);
    }
  }
  tests::write_text(picture, "");
  EXPECT_THROW(read_shown_images(run.path(), index, 0), core::BadInput);
  fs::remove(picture);
  EXPECT_THROW(read_shown_images(run.path(), index, 0), core::BadInput);
}

TEST(RunImages, AnIndexOfImpossibleSizesIsRefused) {
  const tests::TemporaryFolder run;
  RunImages(run.path()).write(images_at(5));
  const nlohmann::json whole = read_image_index(run.path());
  for (const char* key : {"count", "height", "width", "channels", "columns", "generation", "pictures"}) {
    for (const nlohmann::json& value : {nlohmann::json(-1), nlohmann::json(1e12), nlohmann::json("x"), {}}) {
      nlohmann::json changed = whole;
      changed[key] = value;
      EXPECT_THROW(changed.get<ImageIndex>(), core::BadInput) << key << ' ' << value;
    }
    nlohmann::json without = whole;
    without.erase(key);
    EXPECT_THROW(without.get<ImageIndex>(), core::BadInput) << key;
  }
  nlohmann::json huge = whole;
  huge["count"] = huge["height"] = huge["width"] = 4096;
  EXPECT_THROW(huge.get<ImageIndex>(), core::BadInput);
  nlohmann::json short_errors = whole;
  short_errors["pictures"][0]["errors"] = {1, 2};
  EXPECT_THROW(short_errors.get<ImageIndex>(), core::BadInput);
}

}  // namespace
}  // namespace warpscope::training::run_images_test
