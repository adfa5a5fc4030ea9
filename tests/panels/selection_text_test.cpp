#include "ui/panels/selection_text.h"

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"

namespace warpscope::ui {
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

TEST(SelectionList, HasALineForEachChoice) {
  plan::Selection selection;
  selection.variants[ops::Op::relu_forward] = "loops";
  selection.variants[ops::Op::conv2d_forward] = "onednn";
  EXPECT_EQ(selection_list(selection), "conv2d.forward: onednn\nrelu.forward: loops\nthe others automatic");
  EXPECT_EQ(selection_list({}), "all operations automatic");
}

}  // namespace
}  // namespace warpscope::ui
