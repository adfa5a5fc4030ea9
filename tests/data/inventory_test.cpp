#include "gpu/data/inventory.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/data/picture_files.h"

namespace warpscope::data::inventory_test {
namespace {

using tests::TemporaryFolder;
using tests::write_grey;

const Requirements kSmallColour{.shape = {8, 8, 3}, .classes = 2, .name = "small"};
const Requirements kGrey{.shape = {28, 28, 1}, .classes = 10, .name = "grey"};
const Requirements kTexts{.shape = {1, 16, 1}, .classes = 4, .name = "reader", .alphabet = "abc"};

void make_three_classes(const std::filesystem::path& folder) {
  for (const char* name : {"ant", "bee", "cat"}) {
    for (int i = 0; i < 12; ++i) write_grey(folder / name / (std::to_string(i) + ".png"), 40);
  }
  tests::write_text(folder / "cat" / "notes.txt", "no picture");
}

TEST(Inventory, TellsWhatAFolderHoldsAndWhichNetworksItSuits) {
  const TemporaryFolder folder;
  make_three_classes(folder.path());
  const Inventory found = take_inventory(folder.path().string(), kSmallColour, {});
  EXPECT_FALSE(found.texts);
  EXPECT_EQ(found.classes, (std::vector<std::string>{"ant", "bee", "cat"}));
  EXPECT_EQ(found.train + found.test, 36);
  EXPECT_EQ(found.samples.count, kSamples);
  EXPECT_NE(found.notice.find("left out"), std::string::npos) << found.notice;
  EXPECT_EQ(describe(found),
            "33 training and 3 test images, made as large as the network takes them, 3 classes");
  EXPECT_NE(why_not(found, kSmallColour).find("3 classes"), std::string::npos) << "it tells two apart";
  EXPECT_EQ(why_not(found, kGrey), "");
  EXPECT_NE(why_not(found, kTexts).find("takes texts"), std::string::npos);
  EXPECT_TRUE(holds_set(folder.path()));
  EXPECT_FALSE(holds_set(folder.path() / "ant"));
}

TEST(Inventory, IsTakenForAnotherNetworkWhereTheChosenOneTakesSomethingElse) {
  const Requirements others[]{kSmallColour, kGrey};
  const Inventory digits = take_inventory("digits", kTexts, others);
  EXPECT_EQ(digits.shape, (ImageShape{28, 28, 1}));
  EXPECT_EQ(why_not(digits, kGrey), "");
  EXPECT_NE(why_not(digits, kSmallColour).find("28x28x1"), std::string::npos);
  EXPECT_THROW(take_inventory("no/such/folder", kTexts, others), core::BadInput);
}

TEST(Inventory, OfBuiltInDataSuitsEveryNetwork) {
  const Inventory scenes = take_inventory("builtin", kSmallColour, {});
  EXPECT_EQ(scenes.train, 50'000);
  EXPECT_EQ(scenes.test, 10'000);
  EXPECT_EQ(why_not(scenes, kTexts), "");
  EXPECT_EQ(why_not(scenes, kGrey), "");
}

}  // namespace
}  // namespace warpscope::data::inventory_test
