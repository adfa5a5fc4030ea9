#include "gpu/data/locate.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::locate_test {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::TemporaryFolder;
using tests::Variable;
using tests::write_text;

void make_cifar10(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    std::ofstream(folder / name).close();
    fs::resize_file(folder / name, 30'730'000);
  }
}

const Requirements kScenes{{32, 32, 3}, 0};
const Requirements kDigits{{28, 28, 1}, 10};

std::string refusal(const std::string& option, const Requirements& model) {
  return message_of<BadInput>([&] { locate(option, model); });
}

/// A home folder of the test's own, and none of the variables that matter set.
class Locate : public testing::Test {
 protected:
  TemporaryFolder home_;
  Variable home_variable_{"HOME", home_.path().c_str()};
  Variable cache_variable_{"XDG_CACHE_HOME", nullptr};
  Variable data_variable_{"WARPSCOPE_DATA", nullptr};
  fs::path cache_ = home_ / ".cache" / "warpscope";
};

TEST_F(Locate, FallsBackToTheBuiltInScenesAndSaysSo) {
  const Location location = locate("", kScenes);
  EXPECT_EQ(location.set->name, "scenes");
  EXPECT_TRUE(location.folder.empty());
  EXPECT_TRUE(holds(location.notice,
                    {"no CIFAR-10 or CIFAR-100 found in", cache_.string(), "warpscope fetch cifar10"}));
}

TEST_F(Locate, BuiltinIsNoSurprise) {
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", "/nowhere");
  for (const char* option : {"builtin", "scenes"}) {
    EXPECT_EQ(locate(option, kScenes).set->name, "scenes");
    EXPECT_EQ(locate(option, kScenes).notice, "");
  }
  EXPECT_EQ(locate("builtin", kDigits).set->name, "digits");
}

TEST_F(Locate, FindsTheCache) {
  make_cifar10(cache_ / "cifar-10-batches-bin");
  for (const char* option : {"", "cifar10"}) {
    EXPECT_EQ(locate(option, kScenes).set->name, "cifar10");
    EXPECT_EQ(locate(option, kScenes).folder, cache_ / "cifar-10-batches-bin");
    EXPECT_EQ(locate(option, kScenes).notice, "");
  }
}

TEST_F(Locate, TheVariableComesBeforeTheCache) {
  const TemporaryFolder folder;
  make_cifar10(folder.path());
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", folder.path().c_str());
  EXPECT_EQ(locate("", kScenes).folder, folder.path());
  EXPECT_EQ(locate("cifar10", kScenes).folder, folder.path());
}

TEST_F(Locate, AVariableWithoutDataIsAnError) {
  const TemporaryFolder folder;
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", folder.path().c_str());
  for (const char* option : {"", "cifar10"}) {
    EXPECT_TRUE(holds(refusal(option, kScenes), {"$WARPSCOPE_DATA", folder.path().string()}));
  }
}

TEST_F(Locate, AnEmptyVariableCountsAsUnset) {
  const Variable data("WARPSCOPE_DATA", "");
  make_cifar10(cache_);
  EXPECT_EQ(locate("", kScenes).folder, cache_);
}

TEST_F(Locate, WhatIsNamedMustBeThere) {
  EXPECT_TRUE(holds(refusal("cifar10", kScenes), {cache_.string(), "warpscope fetch cifar10"}));
  EXPECT_TRUE(holds(refusal("mnist", kDigits), {cache_.string(), "warpscope fetch mnist"}));
  EXPECT_TRUE(
      holds(refusal("fashion_mnist", kDigits), {"no Fashion-MNIST", "warpscope fetch fashion_mnist"}));
}

TEST_F(Locate, LoadsTheBuiltInScenesWithTheNotice) {
  std::string notice = "before";
  const DataSet set = load("", notice, kScenes);
  EXPECT_EQ(set.name, "built-in scenes");
  EXPECT_EQ(set.source, "builtin");
  EXPECT_EQ(set.train.count, 50'000);
  EXPECT_EQ(set.test.count, 10'000);
  EXPECT_TRUE(holds(notice, {"using the built-in scenes"}));
}

TEST_F(Locate, LoadsAFolder) {
  const TemporaryFolder folder;
  std::string notice = "before";
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load(folder.path().string(), notice, kScenes); }),
                    {folder.path().string(), "data_batch_1.bin"}));
  make_cifar10(folder.path());
  const DataSet set = load(folder.path().string(), notice, kScenes);
  EXPECT_EQ(set.name, "CIFAR-10");
  EXPECT_EQ(set.source, folder.path().string());
  EXPECT_EQ(notice, "");
}

TEST_F(Locate, ABrokenCacheIsAnError) {
  make_cifar10(cache_);
  fs::resize_file(cache_ / "data_batch_1.bin", 5);
  std::string notice;
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { load("", notice, kScenes); }), {"data_batch_1.bin", "truncated"}));
}

TEST_F(Locate, DigitsComeFromTheCacheOrAreDrawn) {
  make_cifar10(cache_);
  std::string notice = "before";
  const DataSet drawn = load("", notice, kDigits);
  EXPECT_EQ(drawn.name, "built-in digits");
  EXPECT_EQ(drawn.train.count, 12'000);
  EXPECT_EQ(drawn.test.count, 2'000);
  EXPECT_TRUE(holds(notice, {"no MNIST or Fashion-MNIST found in", cache_.string(),
                             "using the built-in digits", "warpscope fetch mnist"}));
  tests::make_small_mnist(cache_ / "mnist");
  for (const char* option : {"", "mnist"}) {
    EXPECT_EQ(load(option, notice, kDigits).name, "MNIST");
    EXPECT_EQ(notice, "");
  }
  EXPECT_EQ(load("builtin", notice, kDigits).name, "built-in digits");
  EXPECT_EQ(notice, "");
}

TEST_F(Locate, ASecondSetOfAShapeIsReachedByItsName) {
  tests::make_small_mnist(cache_ / "mnist");
  tests::make_small_mnist(cache_ / "fashion-mnist");
  std::string notice;
  EXPECT_EQ(load("", notice, kDigits).name, "MNIST");  // the first of the table
  EXPECT_EQ(load("mnist", notice, kDigits).source, (cache_ / "mnist").string());
  const DataSet fashion = load("fashion_mnist", notice, kDigits);
  EXPECT_EQ(fashion.name, "Fashion-MNIST");
  EXPECT_EQ(fashion.source, (cache_ / "fashion-mnist").string());
  EXPECT_EQ(fashion.classes.at(9), "Ankle boot");
  fs::remove_all(cache_ / "mnist");
  EXPECT_EQ(load("", notice, kDigits).name, "Fashion-MNIST");
  EXPECT_TRUE(holds(refusal("mnist", kDigits), {"no MNIST found"}));
}

TEST_F(Locate, TheNameOfAFolderTellsSetsWithTheSameFilesApart) {
  const TemporaryFolder folder;
  for (const char* name : {"mnist", "fashion-mnist", "fashion_mnist", "anything"}) {
    tests::make_small_mnist(folder / name);
    const bool fashion = std::string(name).starts_with("fashion");
    const std::string path = (folder / name).string();
    for (const std::string& option : {path, path + "/", path + "/."}) {
      std::string notice;
      EXPECT_EQ(load(option, notice, kDigits).name, fashion ? "Fashion-MNIST" : "MNIST") << option;
    }
    const Variable data("WARPSCOPE_DATA", path.c_str());
    EXPECT_EQ(locate("", kDigits).set->name, fashion ? "fashion_mnist" : "mnist") << path;
    const std::string other = refusal(fashion ? "mnist" : "fashion_mnist", kDigits);
    EXPECT_TRUE(holds(
        other, {"$WARPSCOPE_DATA is " + path, fashion ? "it holds Fashion-MNIST;" : "it holds MNIST;"}));
    EXPECT_FALSE(holds(other, {"the model takes"})) << "the model takes both";
  }
}

TEST_F(Locate, ANameBeforeAFolderDecides) {
  const TemporaryFolder folder;
  tests::make_small_mnist(folder / "anything");
  tests::make_small_mnist(folder / "mnist");
  for (const char* name : {"anything", "mnist"}) {
    const std::string option = "fashion_mnist:" + (folder / name).string();
    std::string notice;
    const DataSet set = load(option, notice, kDigits);
    EXPECT_EQ(set.name, "Fashion-MNIST");
    EXPECT_EQ(set.source, option);
  }
  const std::string plain = (folder / "anything").string();
  std::string notice;
  EXPECT_EQ(load("mnist:" + plain, notice, kDigits).source, plain);
  EXPECT_TRUE(holds(refusal("cifar10:" + plain, kScenes), {"no CIFAR-10 in " + plain, "data_batch_1.bin"}));
  EXPECT_TRUE(
      holds(refusal("cifar10:" + plain, kDigits), {"images of CIFAR-10 are 32x32x3", "takes 28x28x1"}));
  EXPECT_TRUE(holds(refusal("digits:" + plain, kDigits), {"drawn"}));
  EXPECT_TRUE(holds(refusal("mnist:/no/where", kDigits), {"no folder /no/where"}));
}

TEST_F(Locate, AFolderThatCouldBeSeveralSetsAsksForOne) {
  const TemporaryFolder folder;
  tests::make_small_mnist(folder / "mnist");
  tests::make_small_mnist(folder / "fashion_mnist");
  const std::string path = folder.path().string();
  EXPECT_TRUE(holds(refusal(path, kDigits), {path + " holds MNIST and Fashion-MNIST",
                                             "mnist:" + path + " or fashion_mnist:" + path}));
  EXPECT_EQ(locate("mnist:" + path, kDigits).folder, folder / "mnist");
  EXPECT_EQ(locate("fashion_mnist:" + path, kDigits).folder, folder / "fashion_mnist");
}

TEST_F(Locate, WhatASetSaysOfItsSourceFindsItAgain) {
  const TemporaryFolder folder;
  for (const char* name : {"mnist", "fashion-mnist", "anything"}) tests::make_small_mnist(folder / name);
  const std::string path = folder.path().string();
  for (const std::string& option :
       {std::string("builtin"), std::string("digits"), "mnist:" + path, "fashion_mnist:" + path,
        "fashion_mnist:" + path + "/anything", "mnist:" + path + "/fashion-mnist", path + "/anything"}) {
    std::string notice;
    const DataSet first = load(option, notice, kDigits);
    const DataSet again = load(first.source, notice, kDigits);
    EXPECT_EQ(again.name, first.name) << option;
    EXPECT_EQ(again.source, first.source) << option;
  }
}

TEST_F(Locate, SetsOfDifferentShapesCanShareAFolder) {
  const TemporaryFolder folder;
  make_cifar10(folder / "cifar-10-batches-bin");
  tests::make_small_mnist(folder / "mnist");
  for (const std::string& option : {folder.path().string(), std::string()}) {
    const Variable data("WARPSCOPE_DATA", folder.path().c_str());
    std::string notice;
    EXPECT_EQ(load(option, notice, kScenes).name, "CIFAR-10");
    EXPECT_EQ(load(option, notice, kDigits).name, "MNIST");
  }
}

TEST_F(Locate, RefusesByNameWhatTheModelDoesNotTake) {
  make_cifar10(cache_);
  tests::make_small_mnist(cache_);
  EXPECT_TRUE(holds(refusal("cifar10", kDigits), {"images of CIFAR-10 are 32x32x3", "takes 28x28x1",
                                                  "valid: mnist", "fashion_mnist", "builtin"}));
  EXPECT_TRUE(holds(refusal("fashion_mnist", kScenes),
                    {"images of Fashion-MNIST are 28x28x1", "takes 32x32x3", "valid: cifar10", "builtin"}));
  EXPECT_TRUE(holds(refusal("digits", kScenes), {"images of built-in digits are 28x28x1"}));
}

TEST_F(Locate, RefusesSetsWithMoreClassesThanTheModelTellsApart) {
  const Requirements nine{{28, 28, 1}, 9, "mine"};
  EXPECT_TRUE(
      holds(refusal("mnist", nine), {"MNIST has 10 classes, but mine tells 9 apart", "valid: scenes"}));
  EXPECT_EQ(locate("builtin", nine).set->name, "scenes") << "of which some can be left out";
  EXPECT_EQ(locate("builtin", {{28, 28, 1}, 11}).set->name, "digits");
  EXPECT_TRUE(holds(refusal("cifar100", {{32, 32, 3}, 10, "mine"}),
                    {"CIFAR-100 has 100 classes, but mine tells 10 apart", "valid: cifar10"}));
}

TEST_F(Locate, ANameWithoutItsFolderIsToldWhatIsValid) {
  EXPECT_EQ(refusal("fashion_mnist:", kDigits),
            "no folder follows fashion_mnist:; valid: fashion_mnist or fashion_mnist:FOLDER");
}

TEST_F(Locate, SaysWhichOtherSetAFolderHolds) {
  const TemporaryFolder scenes;
  make_cifar10(scenes.path());
  const TemporaryFolder digits;
  tests::make_small_mnist(digits.path());
  EXPECT_TRUE(
      holds(refusal(scenes.path().string(), kDigits),
            {"no MNIST or Fashion-MNIST in " + scenes.path().string(), "it holds CIFAR-10", "28x28x1"}));
  EXPECT_TRUE(holds(refusal(digits.path().string(), kScenes),
                    {"no CIFAR-10 or CIFAR-100 in " + digits.path().string(), "it holds MNIST", "32x32x3"}));
  const Variable data("WARPSCOPE_DATA", scenes.path().c_str());
  EXPECT_TRUE(
      holds(refusal("", kDigits), {"$WARPSCOPE_DATA is " + scenes.path().string(), "it holds CIFAR-10"}));
}

TEST_F(Locate, NamesThatAreNeitherSetNorFolderAreToldWhatIsValid) {
  EXPECT_TRUE(holds(refusal("fashon_mnist", kDigits),
                    {"no folder fashon_mnist", "mnist", "fashion_mnist", "builtin"}));
}

TEST_F(Locate, ModelsOfAnyShapeTrainOnScenes) {
  const Requirements odd{{64, 48, 3}, 0};
  EXPECT_EQ(locate("builtin", odd).set->name, "scenes");
  EXPECT_EQ(locate("builtin", odd).notice, "");
  EXPECT_EQ(locate("", odd).set->name, "scenes");
  EXPECT_EQ(locate("", odd).notice,
            "no data were named; using the built-in scenes at 64x48x3 (--data takes a folder of your own)");
  const Variable data("WARPSCOPE_DATA", "/nowhere");
  EXPECT_EQ(refusal("", odd),
            "$WARPSCOPE_DATA is /nowhere, where there is no set of images; correct or unset it");
}

TEST_F(Locate, NamesBothSidesOfWhatDoesNotFit) {
  tests::make_small_mnist(cache_ / "mnist");
  EXPECT_EQ(refusal("mnist", {{64, 64, 3}, 0, "mine"}),
            "the images of MNIST are 28x28x1, but mine takes 64x64x3; valid: scenes, builtin or a folder");
  EXPECT_EQ(
      refusal((cache_ / "mnist").string(), {{64, 64, 3}, 0, "mine"}),
      "no images in " + (cache_ / "mnist").string() +
          ": it holds MNIST, with 10 classes of images of 28x28x1, but mine takes 64x64x3; name a folder "
          "with images, or builtin");
}

class LocateOwn : public Locate {
 protected:
  /// Two classes of two pictures.
  void SetUp() override {
    for (const char* name : {"cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"}) {
      tests::write_grey(folder_ / "pets" / name, 9);
    }
  }
  void make_idx(const std::string& name, std::uint32_t side) const {
    for (const char* part : {"train", "test"}) {
      const fs::path folder = folder_ / name;
      write_text(folder / (std::string(part) + "-images-idx3-ubyte"), tests::idx_images(4, 0, side, side));
      write_text(folder / (std::string(part) + "-labels-idx1-ubyte"), tests::idx_labels(4));
    }
  }

  TemporaryFolder folder_;
  const fs::path pets_ = folder_ / "pets";
  const Requirements odd_{{7, 6, 3}, 4, "mine"};
};

TEST_F(LocateOwn, ClassFoldersServeModelsOfAnyShape) {
  std::string notice;
  for (const Requirements& model : {odd_, kScenes, kDigits}) {
    for (const std::string& option : {pets_.string(), pets_.string() + "/", "images:" + pets_.string()}) {
      const DataSet set = load(option, notice, model);
      EXPECT_EQ(set.name, "pets");
      EXPECT_EQ(set.classes, (std::vector<std::string>{"cat", "dog"}));
      EXPECT_EQ(set.train.shape(), model.shape);
      EXPECT_TRUE(holds(notice, {"has no test folder", "2 images"}));
      const DataSet again = load(set.source, notice, model);
      EXPECT_EQ(again.name, "pets");
      EXPECT_EQ(again.source, set.source);
    }
  }
  EXPECT_EQ(load(pets_.string(), notice, odd_).source, pets_.string());
  EXPECT_EQ(load("images:" + pets_.string(), notice, odd_).source, pets_.string());
}

TEST_F(LocateOwn, TheVariableMayNameThem) {
  const Variable data("WARPSCOPE_DATA", pets_.c_str());
  EXPECT_EQ(locate("", odd_).folder, pets_);
  EXPECT_EQ(locate("", kScenes).set->name, "images");
  EXPECT_TRUE(holds(refusal("cifar10", kScenes), {"$WARPSCOPE_DATA is " + pets_.string()}));
}

TEST_F(LocateOwn, AFolderMayHaveTheNameOfAForm) {
  EXPECT_TRUE(holds(refusal("images", kScenes), {"there is no folder images", "valid: cifar10"}));
  EXPECT_EQ(refusal("images:", kScenes), "no folder follows images:; valid: images or images:FOLDER");
}

TEST_F(LocateOwn, PublishedSetsComeFirst) {
  tests::make_small_mnist(pets_);
  EXPECT_EQ(locate(pets_.string(), kDigits).set->name, "mnist");
  EXPECT_EQ(locate(pets_.string(), kScenes).set->name, "images") << "MNIST is not what the model takes";
  std::string notice;
  EXPECT_EQ(load("images:" + pets_.string(), notice, kDigits).source, "images:" + pets_.string());
  EXPECT_EQ(load("idx:" + pets_.string(), notice, kDigits).source, "idx:" + pets_.string());
}

TEST_F(LocateOwn, IdxFilesServeTheModelsOfTheirShape) {
  make_idx("small", 12);
  const std::string path = (folder_ / "small").string();
  std::string notice;
  const DataSet set = load(path, notice, {{12, 12, 1}, 4, "mine"});
  EXPECT_EQ(set.name, "small");
  EXPECT_EQ(set.source, path);
  EXPECT_EQ(set.classes.size(), 4U);
  EXPECT_EQ(notice, "");
  EXPECT_TRUE(holds(refusal("mnist:" + path, odd_), {"MNIST are 28x28x1, but mine takes 7x6x3"}));
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { load(path, notice, odd_); }), {"are 12x12x1, but mine takes 7x6x3"}));
}

TEST_F(LocateOwn, FoldersOfTorchvisionTellWhichSetTheyHold) {
  tests::make_small_mnist(folder_ / "torch/FashionMNIST/raw");
  for (const char* const path : {"torch", "torch/FashionMNIST/raw", "torch/FashionMNIST/raw/"}) {
    EXPECT_EQ(locate((folder_ / path).string(), kDigits).set->name, "fashion_mnist") << path;
  }
  tests::make_small_mnist(folder_ / "other/MNIST/raw");
  EXPECT_EQ(locate((folder_ / "other").string(), kDigits).set->name, "mnist");
}

TEST_F(LocateOwn, FilesWithTheNamesOfMnistButAnotherSizeAreOnesOwn) {
  const fs::path path = folder_ / "characters";
  for (const char* part : {"train", "t10k"}) {
    write_text(path / (std::string(part) + "-images-idx3-ubyte"), tests::idx_images(4, 0, 20, 20));
    write_text(path / (std::string(part) + "-labels-idx1-ubyte"), tests::idx_labels(4));
  }
  std::string notice;
  const DataSet set = load(path.string(), notice, {{20, 20, 1}, 0, "mine"});
  EXPECT_EQ(set.name, "characters");
  EXPECT_EQ(set.source, path.string());
}

TEST_F(LocateOwn, AFolderWithNothingIsToldWhatASetNeeds) {
  const TemporaryFolder empty;
  EXPECT_EQ(refusal(empty.path().string(), odd_),
            "no images in " + empty.path().string() +
                ": a set of your own needs a folder of pictures for each class, in it or in its folders "
                "train and test, or IDX files of images and of labels, to train on and to test with");
  EXPECT_TRUE(holds(refusal("images:" + empty.path().string(), odd_), {"no pictures in class folders in"}));
  EXPECT_TRUE(holds(refusal(empty.path().string(), kScenes), {"CIFAR-10 needs", "a set of your own needs"}));
}

}  // namespace
}  // namespace warpscope::data::locate_test
