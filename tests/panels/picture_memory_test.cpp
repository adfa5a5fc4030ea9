#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "gpu/runs/checkpoint_store.h"
#include "tests/core/temporary_folder.h"
#include "ui/panels/pictures/picture_rows.h"

namespace warpscope::ui::picture_memory_test {
namespace {

using nlohmann::json;

TEST(PictureMemory, ChoicesComeBackAsTheyWere) {
  PictureChoices choices;
  EXPECT_EQ(rows_from(rows_json(choices)), choices);
  choices.precision = core::Precision::bf16;
  choices.preset = "naive";
  choices.earlier = 1200;
  choices.checkpoint = {"/runs/a/checkpoints/7.safetensors", "step 7"};
  choices.run = {"/runs/b/checkpoints/best.safetensors", "b, best"};
  for (const PictureRow row :
       {PictureRow::other, PictureRow::earlier, PictureRow::checkpoint, PictureRow::run})
    set_shown(choices, row, true);
  set_shown(choices, PictureRow::original, false);
  choices.minuend = PictureRow::run;
  choices.subtrahend = PictureRow::earlier;
  EXPECT_EQ(rows_from(json::parse(rows_json(choices).dump())), choices);
}

TEST(PictureMemory, WhatCannotBeReadHasItsDefault) {
  const PictureChoices standard;
  for (const char* text :
       {"null", "[]", "{}", R"({"shown": []})", R"({"shown": ["gone", 3]})",
        R"({"shown": "now", "precision": 16})", R"({"precision": "fp17", "preset": null, "earlier": -4})",
        R"({"checkpoint": {"path": "x"}, "run": "y"})", R"({"minuend": "difference", "subtrahend": 4})"}) {
    EXPECT_EQ(rows_from(json::parse(text)), standard) << text;
  }
  PictureChoices some = standard;
  some.shown = {};
  some.shown[index_of(PictureRow::now)] = true;
  EXPECT_EQ(rows_from(json::parse(R"({"shown": ["now", "never"]})")), some);
}

class ImpossibleRows : public testing::Test {
 protected:
  WeightsFile checkpoint_of(const std::filesystem::path& run) const {
    const auto folder = training::checkpoint_folder(run);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "7.safetensors") << "weights";
    return {(folder / "7.safetensors").string(), run.filename().string() + ", step 7"};
  }
  PictureSurroundings here() const {
    return {core::open_device("cpu")->info(), core::Precision::fp32, (folder_ / "now").string()};
  }

  const tests::TemporaryFolder folder_;
};

TEST_F(ImpossibleRows, WhatCanBeStays) {
  PictureChoices choices;
  choices.precision = core::Precision::bf16;
  choices.preset = "loops";
  choices.checkpoint = checkpoint_of(folder_ / "now");
  choices.run = checkpoint_of(folder_ / "other");
  for (const PictureRow row : {PictureRow::other, PictureRow::checkpoint, PictureRow::run})
    set_shown(choices, row, true);
  const PictureChoices before = choices;
  EXPECT_EQ(leave_out_impossible(choices, here()), "");
  EXPECT_EQ(choices, before);
}

TEST_F(ImpossibleRows, ARunThatIsGoneIsToldAndItsRowHidden) {
  PictureChoices choices;
  choices.run = checkpoint_of(folder_ / "other");
  set_shown(choices, PictureRow::run, true);
  choices.minuend = PictureRow::run;
  std::filesystem::remove_all(folder_ / "other");
  EXPECT_EQ(leave_out_impossible(choices, here()), "rows of the images are left out: other, step 7 is gone");
  EXPECT_EQ(choices, PictureChoices{}) << "the difference is that of now and original again";
}

TEST_F(ImpossibleRows, ACheckpointIsOfThisRun) {
  PictureChoices choices;
  choices.checkpoint = checkpoint_of(folder_ / "before");
  set_shown(choices, PictureRow::checkpoint, true);
  EXPECT_EQ(leave_out_impossible(choices, here()),
            "rows of the images are left out: the checkpoint \"before, step 7\" is of another run");
  EXPECT_EQ(choices, PictureChoices{});
  choices.checkpoint = checkpoint_of(folder_ / "before");
  EXPECT_EQ(leave_out_impossible(choices, here()), "") << "nobody sees it";
  EXPECT_EQ(choices, PictureChoices{});
}

TEST_F(ImpossibleRows, PresetsAndPrecisionsOfAnotherDevice) {
  PictureChoices choices;
  choices.preset = "tensor_cores";
  choices.precision = core::Precision::fp16;
  set_shown(choices, PictureRow::other, true);
  EXPECT_EQ(leave_out_impossible(choices, here()),
            "rows of the images are left out: this device does not train in fp16");
  EXPECT_EQ(choices, PictureChoices{});
  choices.preset = "tensor_cores";
  set_shown(choices, PictureRow::other, true);
  EXPECT_EQ(leave_out_impossible(choices, here()),
            "rows of the images are left out: this device has no preset \"tensor_cores\"");
  choices.shown = {};
  choices.preset = "tensor_cores";
  set_shown(choices, PictureRow::other, true);
  leave_out_impossible(choices, here());
  EXPECT_EQ(choices, PictureChoices{}) << "something is shown";
}

}  // namespace
}  // namespace warpscope::ui::picture_memory_test
