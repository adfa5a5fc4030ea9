#include "gpu/settings/augment_settings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/setting.h"

namespace warpscope::training::augment_settings_test {
namespace {

constexpr AugmentSettings kAll{.flip = true, .crop = 3, .cutout = 7, .jitter = 0.18f, .mixup = 0.4f};

std::string refusal_of(const AugmentSettings& settings) {
  try {
    check(settings);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(AugmentSettings, AreOffUnlessSomebodyChooses) {
  EXPECT_FALSE(augments({}));
  for (const AugmentSettings& one :
       {AugmentSettings{.flip = true}, AugmentSettings{.crop = 1}, AugmentSettings{.cutout = 1},
        AugmentSettings{.jitter = 0.1f}, AugmentSettings{.mixup = 0.1f}}) {
    EXPECT_TRUE(augments(one));
  }
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of(kAll), "");
}

TEST(AugmentSettings, EachHasItsRow) {
  std::vector<std::string> keys;
  for (const Setting* const row : augment_rows()) keys.emplace_back(row->key);
  EXPECT_EQ(keys, (std::vector<std::string>{"flip", "crop", "cutout", "jitter", "mixup"}));
}

TEST(AugmentSettings, OutOfRangeAreNamed) {
  EXPECT_EQ(refusal_of({.crop = 17}), "crop must be at most 16, not 17");
  EXPECT_EQ(refusal_of({.cutout = -1}), "cutout must be 0 or more, not -1");
  EXPECT_NE(refusal_of({.jitter = 1.5f}).find("jitter"), std::string::npos);
  EXPECT_NE(refusal_of({.mixup = 2.5f}).find("mixup"), std::string::npos);
}

TEST(AugmentSettings, PairsAndSingleImagesDoNotGoTogether) {
  OptimizerSettings optimizer;
  EXPECT_NO_THROW(check_together(kAll, optimizer));
  optimizer.per_sample = true;
  EXPECT_THROW(check_together(kAll, optimizer), core::BadInput);
  EXPECT_NO_THROW(check_together({.flip = true, .crop = 3}, optimizer));
}

TEST(AugmentSettings, FillTheirFieldsOfTheControl) {
  ops::step::StepControl control;
  fill_control(kAll, control);
  EXPECT_EQ(control.flip, 1u);
  EXPECT_EQ(control.crop, 3u);
  EXPECT_EQ(control.cutout, 7u);
  EXPECT_EQ(control.jitter, 0.18f);
  EXPECT_EQ(control.mixup, 0.4f);
  fill_control(AugmentSettings{}, control);
  EXPECT_EQ(control.flip + control.crop + control.cutout, 0u);
  EXPECT_EQ(control.jitter + control.mixup, 0);
}

TEST(AugmentSettings, GoThroughAConfigurationAndBack) {
  TrainingSettings settings, back;
  settings.augment = kAll;
  apply(resolve(configuration_of(settings)), back);
  EXPECT_EQ(back.augment, kAll);
}

}  // namespace
}  // namespace warpscope::training::augment_settings_test
