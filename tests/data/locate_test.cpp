#include "gpu/data/locate.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/data/idx_files.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using core::BadInput;
using tests::holds;
using tests::message_of;
using tests::TemporaryFolder;
using tests::Variable;

void make_cifar10(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                           "data_batch_5.bin", "test_batch.bin"}) {
    std::ofstream(folder / name).close();
    fs::resize_file(folder / name, 30'730'000);
  }
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
  const Location location = locate("");
  EXPECT_TRUE(location.folder.empty());
  EXPECT_TRUE(holds(location.notice, {"no CIFAR-10 found in", cache_.string(), "warpscope fetch cifar10"}));
}

TEST_F(Locate, BuiltinIsNoSurprise) {
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", "/nowhere");
  EXPECT_TRUE(locate("builtin").folder.empty());
  EXPECT_EQ(locate("builtin").notice, "");
}

TEST_F(Locate, FindsTheCache) {
  make_cifar10(cache_ / "cifar-10-batches-bin");
  for (const char* option : {"", "cifar10"}) {
    EXPECT_EQ(locate(option).folder, cache_ / "cifar-10-batches-bin");
    EXPECT_EQ(locate(option).notice, "");
  }
}

TEST_F(Locate, TheVariableComesBeforeTheCache) {
  const TemporaryFolder folder;
  make_cifar10(folder.path());
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", folder.path().c_str());
  EXPECT_EQ(locate("").folder, folder.path());
  EXPECT_EQ(locate("cifar10").folder, folder.path());
}

TEST_F(Locate, AVariableWithoutDataIsAnError) {
  const TemporaryFolder folder;
  make_cifar10(cache_);
  const Variable data("WARPSCOPE_DATA", folder.path().c_str());
  for (const char* option : {"", "cifar10"}) {
    EXPECT_TRUE(
        holds(message_of<BadInput>([&] { locate(option); }), {"$WARPSCOPE_DATA", folder.path().string()}));
  }
}

TEST_F(Locate, AnEmptyVariableCountsAsUnset) {
  const Variable data("WARPSCOPE_DATA", "");
  make_cifar10(cache_);
  EXPECT_EQ(locate("").folder, cache_);
}

TEST_F(Locate, CifarByNameMustBeThere) {
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { locate("cifar10"); }), {cache_.string(), "warpscope fetch cifar10"}));
}

TEST_F(Locate, LoadsTheBuiltInScenesWithTheNotice) {
  std::string notice = "before";
  const DataSet set = load("", notice);
  EXPECT_EQ(set.name, "built-in scenes");
  EXPECT_EQ(set.train.count, 50'000);
  EXPECT_EQ(set.test.count, 10'000);
  EXPECT_TRUE(holds(notice, {"using the built-in scenes"}));
}

TEST_F(Locate, LoadsAFolder) {
  const TemporaryFolder folder;
  std::string notice = "before";
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { load(folder.path().string(), notice); }), {folder.path().string()}));
  make_cifar10(folder.path());
  const DataSet set = load(folder.path().string(), notice);
  EXPECT_EQ(set.name, "CIFAR-10");
  EXPECT_EQ(set.source, folder.path().string());
  EXPECT_EQ(notice, "");
}

TEST_F(Locate, ABrokenCacheIsAnError) {
  make_cifar10(cache_);
  fs::resize_file(cache_ / "data_batch_1.bin", 5);
  std::string notice;
  EXPECT_TRUE(holds(message_of<BadInput>([&] { load("", notice); }), {"data_batch_1.bin", "truncated"}));
}

TEST_F(Locate, DigitsComeFromTheCacheOrAreDrawn) {
  make_cifar10(cache_);
  std::string notice = "before";
  const DataSet drawn = load("", notice, kDigitShape);
  EXPECT_EQ(drawn.name, "built-in digits");
  EXPECT_EQ(drawn.train.count, 12'000);
  EXPECT_EQ(drawn.test.count, 2'000);
  EXPECT_TRUE(holds(
      notice, {"no MNIST found in", cache_.string(), "using the built-in digits", "warpscope fetch mnist"}));
  tests::make_small_mnist(cache_ / "mnist");
  for (const char* option : {"", "mnist"}) {
    EXPECT_EQ(load(option, notice, kDigitShape).name, "MNIST");
    EXPECT_EQ(notice, "");
  }
  EXPECT_EQ(load("builtin", notice, kDigitShape).name, "built-in digits");
  EXPECT_EQ(notice, "");
}

TEST_F(Locate, BothDataSetsCanShareAFolder) {
  const TemporaryFolder folder;
  make_cifar10(folder / "cifar-10-batches-bin");
  tests::make_small_mnist(folder / "mnist");
  for (const std::string& option : {folder.path().string(), std::string()}) {
    const Variable data("WARPSCOPE_DATA", folder.path().c_str());
    std::string notice;
    EXPECT_EQ(load(option, notice).name, "CIFAR-10");
    EXPECT_EQ(load(option, notice, kDigitShape).name, "MNIST");
  }
}

TEST_F(Locate, MnistByNameMustBeThere) {
  EXPECT_TRUE(holds(message_of<BadInput>([&] { locate("mnist", kDigitShape); }),
                    {cache_.string(), "warpscope fetch mnist"}));
}

TEST_F(Locate, RefusesTheOtherDataSetByName) {
  make_cifar10(cache_);
  tests::make_small_mnist(cache_);
  EXPECT_TRUE(
      holds(message_of<BadInput>([&] { locate("cifar10", kDigitShape); }),
            {"CIFAR-10 has images of 32x32x3", "takes 28x28x1", "valid: mnist, builtin or a folder"}));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { locate("mnist"); }),
                    {"MNIST has images of 28x28x1", "takes 32x32x3", "valid: cifar10, builtin or a folder"}));
}

TEST_F(Locate, SaysThatAFolderHoldsTheOtherDataSet) {
  const TemporaryFolder scenes;
  make_cifar10(scenes.path());
  const TemporaryFolder digits;
  tests::make_small_mnist(digits.path());
  EXPECT_TRUE(holds(message_of<BadInput>([&] { locate(scenes.path().string(), kDigitShape); }),
                    {"no MNIST in " + scenes.path().string(), "it holds CIFAR-10", "28x28x1"}));
  EXPECT_TRUE(holds(message_of<BadInput>([&] { locate(digits.path().string()); }),
                    {"no CIFAR-10 in " + digits.path().string(), "it holds MNIST", "32x32x3"}));
  const Variable data("WARPSCOPE_DATA", scenes.path().c_str());
  EXPECT_TRUE(holds(message_of<BadInput>([&] { locate("", kDigitShape); }),
                    {"$WARPSCOPE_DATA is " + scenes.path().string(), "no MNIST: it holds CIFAR-10"}));
}

TEST_F(Locate, RefusesModelsThatNoDataFit) {
  EXPECT_TRUE(holds(message_of<BadInput>([] {
                      locate("builtin", {64, 48, 3});
                    }),
                    {"64x48x3", "32x32x3 (CIFAR-10)", "28x28x1 (MNIST)"}));
}

}  // namespace
}  // namespace warpscope::data
