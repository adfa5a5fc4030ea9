#include "ui/panels/selection_text.h"

#include <gtest/gtest.h>

#include "gpu/ops/variant.h"

namespace warpscope::ui {
namespace {

core::DeviceInfo cpu() {
  return core::open_device("cpu")->info();
}

TEST(SelectionWord, SaysFastestOrTheCommonNameOrMixed) {
  const core::DeviceInfo device = cpu();
  plan::Selection selection = plan::default_selection(device, core::Precision::fp32);
  EXPECT_EQ(selection_word(selection, device), "fastest");
  plan::apply(selection, "all=reference", device);
  EXPECT_EQ(selection_word(selection, device), "reference");
  const plan::Selection fastest = plan::default_selection(device, core::Precision::fp32);
  selection.variants[ops::Op::conv2d_forward] = fastest.variants.at(ops::Op::conv2d_forward);
  EXPECT_EQ(selection_word(selection, device), "mixed");
  EXPECT_EQ(selection_word({}, device), "-");
}

TEST(SelectionList, HasALineForEachOp) {
  plan::Selection selection;
  selection.variants[ops::Op::relu_forward] = "loops";
  selection.variants[ops::Op::conv2d_forward] = "onednn";
  EXPECT_EQ(selection_list(selection), "conv2d.forward: onednn\nrelu.forward: loops");
}

TEST(WithPrecision, KeepsVariantsThatRunInItAndReplacesOthers) {
  const core::DeviceInfo device = cpu();
  for (const core::Precision precision : core::selectable_precisions()) {
    plan::Selection selection = plan::default_selection(device, core::Precision::fp32);
    const plan::Selection fastest = plan::default_selection(device, precision);
    const plan::Selection changed = with_precision(selection, device, precision);
    EXPECT_EQ(changed.precision, precision);
    ASSERT_EQ(changed.variants.size(), selection.variants.size());
    for (const auto& [op, name] : changed.variants) {
      const ops::Variant& before = *ops::find_variant(op, device.kind, selection.variants.at(op));
      if (ops::unavailable_reason(before, device, precision).empty() || !fastest.variants.contains(op)) {
        EXPECT_EQ(name, before.name);
      } else {
        EXPECT_EQ(name, fastest.variants.at(op));
      }
    }
  }
}

}  // namespace
}  // namespace warpscope::ui
