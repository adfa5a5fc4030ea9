// What the Network panel makes of an inspection.

#include "ui/panels/network/network_rows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/inspections.h"
#include "tests/support/tiny_classifier.h"
#include "ui/panels/network/sum_view.h"

namespace warpscope::ui::network_rows_test {
namespace {

using tests::inspection_of;
using training::Inspection;

const models::Model kModel = tests::tiny_model();
const models::ParameterLayout kLayout = models::parameter_layout(kModel);

TEST(NetworkRows, AChannelIsItsValuesRowByRow) {
  const Inspection inspection = inspection_of(kModel, 5);
  const training::LayerOutput& output = inspection.outputs[1];
  const Pictures pictures = channels_of(output);
  ASSERT_EQ(pictures.count, 4);
  for (int c = 0; c < 4; ++c) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) EXPECT_EQ(pictures.of(c)[y * 8 + x], output.at(y, x, c));
    }
  }
}

TEST(NetworkRows, AnInspectionOfAnotherNetworkIsTold) {
  const Inspection inspection = inspection_of(kModel, 5);
  EXPECT_TRUE(is_of(inspection, kModel));
  for (const auto& change : {+[](models::Model& m) { m.layers[1].name = "other"; },
                             +[](models::Model& m) { m.layers[0].out_channels = 8; },
                             +[](models::Model& m) { m.layers.pop_back(); }}) {
    models::Model other = kModel;
    change(other);
    models::fit_layers(other);
    EXPECT_FALSE(is_of(inspection, other));
  }
}

TEST(NetworkRows, FiltersOverColoursAreColoursAndOthersOneInputChannel) {
  const Inspection inspection = inspection_of(kModel, 5);
  const auto first = filters_of(kModel, kLayout, inspection, 1, 0, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->planes, 3);
  EXPECT_EQ(first->count, 4);
  const float* weights = inspection.parameters.data() + kLayout.find("conv1.weight").offset;
  EXPECT_TRUE(std::equal(first->values.begin(), first->values.end(), weights));
  const auto second = filters_of(kModel, kLayout, inspection, 4, 2, true);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->planes, 1);
  EXPECT_EQ(second->count, 5);
  const float* gradients = inspection.gradients.data() + kLayout.find("conv2.weight").offset;
  for (int filter = 0; filter < 5; ++filter) {
    for (int tap = 0; tap < 9; ++tap) {
      EXPECT_EQ(second->of(filter)[tap], gradients[(filter * 9 + tap) * 4 + 2]);
    }
  }
  EXPECT_FALSE(filters_of(kModel, kLayout, inspection, 2, 0, false)) << "a ReLU has none";
  EXPECT_FALSE(filters_of(kModel, kLayout, inspection, 0, 0, false)) << "the image has none";
}

TEST(NetworkRows, FiltersOfALinearLayerAreAsLargeAsItsInput) {
  const models::Model model = tests::tiny_classifier();
  const Inspection inspection = inspection_of(model, 5);
  const auto filters = filters_of(model, models::parameter_layout(model), inspection, 4, 1, false);
  ASSERT_TRUE(filters);
  EXPECT_EQ(filters->height, 4);
  EXPECT_EQ(filters->width, 4);
  EXPECT_EQ(filters->count, 6);
  EXPECT_EQ(filter_depth(inspection, model, 4), 4);
}

TEST(NetworkRows, FiguresAndOrder) {
  const Pictures pictures{3, 1, 2, 1, {1, 3, 0, 0, -4, 8}};
  const auto figures = figures_of(pictures);
  EXPECT_FLOAT_EQ(figures[0].mean, 2);
  EXPECT_FLOAT_EQ(figures[0].variance, 1);
  EXPECT_EQ(figures[1].zeros, 2u);
  EXPECT_FLOAT_EQ(figures[2].least, -4);
  EXPECT_FLOAT_EQ(figures[2].most, 8);
  EXPECT_EQ(ordered(figures, ChannelOrder::index), (std::vector{0, 1, 2}));
  EXPECT_EQ(ordered(figures, ChannelOrder::mean), (std::vector{0, 2, 1})) << "equal ones stay in order";
  EXPECT_EQ(ordered(figures, ChannelOrder::variance), (std::vector{2, 0, 1}));
  const ColourScale all = scale_of(figures);
  EXPECT_FLOAT_EQ(all.range, 8);
  EXPECT_TRUE(all.has_signs);
  EXPECT_FALSE(scale_of(figures[0]).has_signs);
  EXPECT_FLOAT_EQ(scale_of(figures[1]).range, 1) << "nothing is divided by 0";
}

TEST(NetworkRows, AnOrderIsKeptUntilFiguresOrWishesAreOthers) {
  const auto figures = figures_of({3, 1, 2, 1, {1, 3, 0, 0, -4, 8}});
  const auto others = figures_of({3, 1, 2, 1, {0, 0, 1, 3, -4, 8}});
  KeptOrder kept;
  EXPECT_EQ(kept.of(figures, 0, ChannelOrder::mean), (std::vector{0, 2, 1}));
  EXPECT_EQ(kept.of(others, 0, ChannelOrder::mean), (std::vector{0, 2, 1})) << "it has been sorted again";
  EXPECT_EQ(kept.of(others, 1, ChannelOrder::mean), (std::vector{1, 2, 0}));
  EXPECT_EQ(kept.of(others, 1, ChannelOrder::index), (std::vector{0, 1, 2}));
}

TEST(NetworkRows, ZeroIsWhiteWhereThereAreSignsAndNumbersThatAreNoneAreMagenta) {
  const float zero = 0, bad = std::nanf("");
  EXPECT_EQ(value_colour(&zero, 1, {2, true}), (images::Rgba{255, 255, 255, 255}));
  EXPECT_EQ(value_colour(&zero, 1, {2, false}), images::magnitude_colour(0));
  EXPECT_EQ(value_colour(&bad, 1, {2, true}), images::not_a_number());
  const float colours[3] = {0, 2, -2};
  EXPECT_EQ(value_colour(colours, 3, {2, true}), (images::Rgba{128, 255, 0, 255}));
}

TEST(NetworkRows, OverviewsOfVectorsAreNearlySquare) {
  const training::LayerOutput vector{"fc1", 1, 1, 7, {1, 2, 3, 4, 5, 6, 7}};
  const Overview overview = overview_of(vector);
  EXPECT_EQ(overview.width, 3);
  EXPECT_EQ(overview.height, 3);
  ASSERT_EQ(overview.pixels.size(), 9u);
  EXPECT_EQ(overview.pixels[6].a, 255);
  EXPECT_EQ(overview.pixels[7].a, 0) << "nothing is there";
}

TEST(NetworkRows, TilesFillTheRoomAndAllAreSeenWhereTheyCanBe) {
  for (const int count : {1, 3, 10, 128, 256}) {
    for (const float width : {150.0f, 600.0f, 1500.0f}) {
      const float height = 500, gap = 3;
      const TileLayout layout = lay_out_tiles(count, 32, 32, width, height, gap, 18, 96);
      const int rows = (count + layout.columns - 1) / layout.columns;
      EXPECT_LE(static_cast<float>(layout.columns) * (layout.width + gap) - gap, width + 1) << count;
      EXPECT_GE(layout.width, 18.0f);
      EXPECT_LE(layout.width, 96.0f);
      const bool all_seen = static_cast<float>(rows) * (layout.height + gap) <= height + gap;
      EXPECT_TRUE(all_seen || layout.width <= 19) << count << " in " << width;
      const int missing = rows * layout.columns - count;
      EXPECT_LT(missing, rows) << count << " in " << width << ": one column less would do";
    }
  }
}

TEST(NetworkRows, NoTilesHaveAPlaceToo) {
  EXPECT_EQ(lay_out_tiles(0, 32, 32, 600, 200, 3, 18, 96).columns, 1);
}

TEST(NetworkRows, TilesOfTextsAreNoWiderThanTheRoom) {
  const TileLayout layout = lay_out_tiles(48, 1014, 1, 600, 200, 3, 18, 96);
  EXPECT_EQ(layout.columns, 1);
  EXPECT_EQ(layout.width, 600);
  EXPECT_EQ(layout.height, 18);
}

TEST(NetworkRows, NormsOfAFilterAreOverAllItsChannels) {
  Inspection inspection = inspection_of(kModel, 5);
  const models::Parameter& weight = kLayout.find("conv2.weight");
  std::fill_n(inspection.parameters.begin() + static_cast<std::ptrdiff_t>(weight.offset), weight.elements,
              0.5f);
  const FilterFigures figures = figures_of_filter(kModel, kLayout, inspection, 4, 3);
  EXPECT_FLOAT_EQ(figures.norm, 3.0f) << "36 weights of a half";
  EXPECT_EQ(figures.bias, inspection.parameters[kLayout.find("conv2.bias").offset + 3]);
  EXPECT_GT(figures.gradient_norm.value_or(0), 0);
}

TEST(NetworkRows, WithoutGradientsThereAreWeightsAndAReason) {
  Inspection inspection = inspection_of(kModel, 5);
  inspection.gradients.clear();
  EXPECT_TRUE(filters_of(kModel, kLayout, inspection, 4, 0, false));
  EXPECT_FALSE(filters_of(kModel, kLayout, inspection, 4, 0, true));
  EXPECT_STREQ(why_no_filters(inspection, kModel, 4), kNoGradients);
  EXPECT_STRNE(why_no_filters(inspection, kModel, 2), kNoGradients) << "a ReLU never has some";
  const FilterFigures figures = figures_of_filter(kModel, kLayout, inspection, 4, 3);
  EXPECT_GT(figures.norm, 0);
  EXPECT_FALSE(figures.gradient_norm);
  EXPECT_FALSE(figures.bias_gradient);
}

TEST(ExcitingSentences, GetShorterAndSayTheSame) {
  training::ChannelActivations seen;
  seen.images = 1096;
  seen.step = 12345;
  const auto sentences = exciting_sentences(seen, "onehot1", 3);
  EXPECT_EQ(sentences[0], "these of 1,096 test images excite onehot1, channel 3 most; step 12,345");
  for (std::size_t i = 1; i < sentences.size(); ++i) {
    EXPECT_LT(sentences[i].size(), sentences[i - 1].size());
    EXPECT_NE(sentences[i].find("of 1,096 test images"), std::string::npos) << sentences[i];
  }
}

TEST(SumRows, SharesOfChannelsAddUpToTheSumWithTheLargestFirst) {
  const Inspection inspection = inspection_of(kModel, 5);
  const inspect::Explanation sum = inspect::explain(kModel, kLayout, inspection, {4, 2, 1, 3});
  const auto shares = shares_of(sum);
  ASSERT_EQ(shares.size(), 4u);
  double total = static_cast<double>(sum.bias);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    total += shares[i].sum;
    EXPECT_LE(std::abs(shares[i].sum), std::abs(shares[i == 0 ? 0 : i - 1].sum));
  }
  EXPECT_NEAR(total, sum.total, 1e-12);
  const auto terms = largest_terms(sum);
  ASSERT_EQ(terms.size(), 36u);
  EXPECT_GE(std::abs(sum.terms[terms.front()].product()), std::abs(sum.terms[terms.back()].product()));
}

TEST(SumRows, WordsTellTheSumAndWhatItPasses) {
  const Inspection inspection = inspection_of(kModel, 5);
  const auto words = words_of(kModel, inspect::explain(kModel, kLayout, inspection, {6, 3, 2, 1}));
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0].substr(0, 13), "conv2 = bias ");
  EXPECT_NE(words[0].find(" + 36 products = "), std::string::npos);
  EXPECT_EQ(words[1].substr(0, 15), "relu2 = max(0, ");
  EXPECT_EQ(words[2].substr(0, 15), "up2 repeats it:");
}

TEST(SumRows, WordsTellTheFactorOfALayer) {
  models::Model model = kModel;
  model.layers.push_back({models::LayerKind::scale, "scale1"});
  model.layers.back().factor = -0.125f;
  inspect::Explanation sum;
  sum.passages.push_back({models::LayerKind::scale, model.layers.size(), 2.0f, -0.25f, {}});
  const auto words = words_of(model, sum);
  EXPECT_EQ(words.back(), "scale1 = -0.125 times 2 = -0.25");
}

}  // namespace
}  // namespace warpscope::ui::network_rows_test
