#include "gpu/data/halves.h"

#include <filesystem>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::data::halves_test {
namespace {

TEST(HalvesTest, HaveTheNamesThatPeopleGiveThem) {
  for (const char* const name : {"train", "Train", "TRAINING", "training"})
    EXPECT_EQ(half_of(name), Half::train);
  for (const char* const name : {"test", "Testing", "TEST", "t10k", "eval", "Evaluation"})
    EXPECT_EQ(half_of(name), Half::test);
  for (const char* const name : {"val", "Valid", "VALIDATION", "dev"})
    EXPECT_EQ(half_of(name), Half::validation);
  for (const char* const name :
       {"", "trains", "tests", "value", "train2", "my train", "évaluation", "device"}) {
    EXPECT_EQ(half_of(name), std::nullopt) << name;
  }
}

TEST(HalvesTest, MayBeCalledASetOfSomething) {
  for (const char* const name :
       {"train", "trainset", "train_set", "Training_Set", "train-images", "TRAIN DATA", "TrainDataset"})
    EXPECT_EQ(half_of_set(name), Half::train) << name;
  for (const char* const name : {"testset", "Test_Set", "testing_images"})
    EXPECT_EQ(half_of_set(name), Half::test) << name;
  for (const char* const name : {"valset", "validation_images"})
    EXPECT_EQ(half_of_set(name), Half::validation) << name;
  for (const char* const name :
       {"set", "dataset", "_set", "train__set", "toy_train_set", "trainsets", "asset"})
    EXPECT_EQ(half_of_set(name), std::nullopt) << name;
}

TEST(HalvesTest, AreWordsInLongerNames) {
  EXPECT_EQ(half_in("my_trainset"), Half::train);
  EXPECT_EQ(half_in("seg_train"), Half::train);
  EXPECT_EQ(half_in("Corona_NLP_Test"), Half::test);
  EXPECT_EQ(half_in("train-images.idx3"), Half::train);
  EXPECT_EQ(half_in("my validation data"), Half::validation);
  EXPECT_EQ(half_in("train_train"), Half::train);
  EXPECT_EQ(half_in("train_and_test"), std::nullopt);
  EXPECT_EQ(half_in("contest"), std::nullopt);
  EXPECT_EQ(half_in(""), std::nullopt);
  EXPECT_EQ(half_in("--"), std::nullopt);
}

TEST(HalvesTest, NamesOfOneSetAreAlikeWithoutThem) {
  EXPECT_EQ(without_half("seg_train"), "seg_");
  EXPECT_EQ(without_half("seg_Test"), "seg_");
  EXPECT_EQ(without_half("train-images.idx3"), "-images.idx3");
  EXPECT_EQ(without_half("train_station"), "_station");
  EXPECT_EQ(without_half("contest"), "contest");
  EXPECT_EQ(without_half("validation"), "");
}

TEST(HalvesTest, AreThereOnceEach) {
  const std::vector<std::filesystem::path> paths{"d/Training.csv", "d/other.csv", "d/val.csv"};
  const Halves halves = find_halves(paths, half_of);
  EXPECT_EQ(of(halves, Half::train), "d/Training.csv");
  EXPECT_EQ(of(halves, Half::test), "");
  EXPECT_EQ(of(halves, Half::validation), "d/val.csv");
  const std::vector<std::filesystem::path> both{"d/Train", "d/training"};
  EXPECT_EQ(tests::message_of<core::BadInput>([&] { find_halves(both, half_of); }),
            "d/Train and d/training could both be the training data; keep one of them there");
  const std::vector<std::filesystem::path> some{"d/train", "d/train_images", "d/test_images"};
  const Halves preferred = find_halves(some, half_of, half_of_set);
  EXPECT_EQ(of(preferred, Half::train), "d/train");
  EXPECT_EQ(of(preferred, Half::test), "d/test_images");
}

}  // namespace
}  // namespace warpscope::data::halves_test
