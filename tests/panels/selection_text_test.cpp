#include "ui/panels/selection_text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"

namespace warpscope::ui::selection_text_test {
namespace {

core::DeviceInfo cpu() {
  return core::open_device("cpu")->info();
}

TEST(SelectionWord, SaysThePresetOrAutomaticOrMixed) {
  const core::DeviceInfo device = cpu();
  EXPECT_EQ(selection_word({}, device), "automatic");
  for (const plan::Preset& preset : plan::presets(device.kind)) {
    const plan::Selection selection = plan::preset_selection(preset.id, device, core::Precision::fp32);
    EXPECT_EQ(selection_word(selection, device), preset.label);
  }
  plan::Selection selection = plan::preset_selection("onednn", device, core::Precision::fp32);
  selection.variants[ops::Op::conv2d_forward] = "reference";
  EXPECT_EQ(selection_word(selection, device), "mixed");
}

TEST(SelectionWord, IsTheNameThatWasGivenUntilAVariantIsChanged) {
  const core::DeviceInfo device = cpu();
  plan::Selection selection{core::Precision::fp32, {{ops::Op::relu_forward, "reference"}}};
  plan::name_selection(selection, "fastest here, 14:02");
  EXPECT_EQ(selection_word(selection, device), "fastest here, 14:02");
  selection.variants[ops::Op::bias_forward] = "reference";
  EXPECT_EQ(selection_word(selection, device), "mixed");
  const plan::Selection preset = plan::preset_selection("onednn", device, core::Precision::fp32);
  plan::name_selection(preset, "fastest here, 14:03");
  EXPECT_EQ(selection_word(preset, device), "oneDNN") << "a preset's name says more";
}

TEST(SelectionList, HasALineForEachVariant) {
  plan::Selection selection;
  selection.variants[ops::Op::relu_forward] = "loops";
  selection.variants[ops::Op::conv2d_forward] = "onednn";
  selection.variants[ops::Op::relu_backward] = "loops";
  EXPECT_EQ(selection_list(selection),
            "loops: relu.forward, relu.backward\nonednn: conv2d.forward\nthe others automatic");
  const plan::Selection preset = plan::preset_selection("loops", cpu(), core::Precision::fp32);
  const std::string list = selection_list(preset);
  EXPECT_LE(std::count(list.begin(), list.end(), '\n'), 4) << list;
  EXPECT_EQ(selection_list({}), "all operations automatic");
}

}  // namespace
}  // namespace warpscope::ui::selection_text_test
