// The terms of a sum add up to what a network in double precision computes at the same place.

#include "gpu/inspect/explain.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/inspections.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_text.h"

namespace warpscope::inspect::explain_test {
namespace {

using models::LayerKind;
using tests::inspection_of;
using training::Inspection;

/// tests::tiny_model() with the first ReLU added to the pooled ones, and no bias in its second convolution.
models::Model tiny_residual() {
  models::Model model = tests::tiny_model();
  model.layers[3].out_channels = 4;
  model.layers[3].bias = false;
  model.layers.insert(model.layers.begin() + 5, {LayerKind::add, "add1"});
  model.layers[5].from = "pool1";
  models::fit_layers(model);
  models::check_model(model);
  return model;
}

/// tests::tiny_classifier() with its logits divided by 8.
models::Model scaled_classifier() {
  models::Model model = tests::tiny_classifier();
  model.layers.push_back({LayerKind::scale, "scale1"});
  model.layers.back().factor = 0.125f;
  models::check_model(model);
  return model;
}

std::vector<models::Model> tiny_models() {
  return {tests::tiny_model(), tests::tiny_classifier(), tiny_residual(), scaled_classifier()};
}

TEST(Explain, TheSumIsWhatTheNetworkHasAtEveryPlace) {
  for (const models::Model& model : tiny_models()) {
    const models::ParameterLayout layout = models::parameter_layout(model);
    const Inspection inspection = inspection_of(model, 11);
    int sums = 0;
    for (std::size_t n = 1; n < inspection.outputs.size(); ++n) {
      const training::LayerOutput& output = inspection.outputs[n];
      SCOPED_TRACE(model.name + " " + output.layer);
      for (int y = 0; y < output.height; ++y) {
        for (int x = 0; x < output.width; ++x) {
          for (int c = 0; c < output.channels; ++c) {
            const Explanation found = explain(model, layout, inspection, {n, y, x, c});
            ASSERT_TRUE(found.has_sum);
            ++sums;
            EXPECT_NEAR(found.total, static_cast<double>(found.stored), 1e-5);
            float value = found.stored;
            for (const Passage& passage : found.passages) {
              EXPECT_EQ(passage.before, value);
              if (passage.kind == LayerKind::relu) value = std::max(value, 0.0f);
              if (passage.kind == LayerKind::scale) value *= 0.125f;  // exact
              if (passage.kind == LayerKind::add) {
                EXPECT_NEAR(passage.after, value + passage.addend, 1e-6f);  // summed in double
                value = passage.after;
              }
              EXPECT_EQ(passage.after, value);
            }
            EXPECT_EQ(found.value, value);
            EXPECT_EQ(found.value, output.at(y, x, c));
          }
        }
      }
    }
    EXPECT_GT(sums, 100);
  }
}

TEST(Explain, WhatReadsCharactersLeadsBackToTheirByte) {
  for (const LayerKind first : {LayerKind::one_hot, LayerKind::embedding}) {
    const models::Model model = tests::tiny_text_model(first);
    const models::ParameterLayout layout = models::parameter_layout(model);
    const Inspection inspection = inspection_of(model, 11);
    const int channels = inspection.outputs[1].channels;
    for (const int channel : {0, channels - 1}) {
      const Explanation found = explain(model, layout, inspection, {1, 0, 39, channel});
      EXPECT_FALSE(found.has_sum);
      ASSERT_EQ(found.passages.size(), 1u);
      EXPECT_EQ(found.passages[0].kind, first);
      EXPECT_EQ(found.passages[0].before, inspection.outputs[0].at(0, 39, 0));
      EXPECT_EQ(found.value, inspection.outputs[1].at(0, 39, channel));
    }
    const Explanation sum = explain(model, layout, inspection, {2, 0, 3, 5});
    ASSERT_TRUE(sum.has_sum);
    EXPECT_EQ(sum.terms.size(), static_cast<std::size_t>(5 * channels));
    EXPECT_NEAR(sum.total, static_cast<double>(sum.stored), 1e-5);
  }
}

TEST(Explain, PaddingIsZeroAndPoolingTakesTheLargest) {
  const models::Model model = tests::tiny_model();
  const models::ParameterLayout layout = models::parameter_layout(model);
  const Inspection inspection = inspection_of(model, 3);
  const Explanation corner = explain(model, layout, inspection, {1, 0, 7, 2});
  ASSERT_EQ(corner.terms.size(), 27u);
  for (const Term& term : corner.terms) {
    const bool inside = term.y >= 0 && term.x < 8;
    const float wanted = inside ? inspection.outputs[0].at(term.y, term.x, term.channel) : 0.0f;
    EXPECT_EQ(term.input, wanted);
  }
  const Explanation pooled = explain(model, layout, inspection, {3, 1, 2, 0});
  ASSERT_EQ(pooled.passages.size(), 2u) << "ReLU, then pooling";
  const Passage& pooling = pooled.passages.back();
  EXPECT_EQ(pooling.kind, LayerKind::maxpool2d);
  EXPECT_EQ(pooling.after, *std::max_element(pooling.window.begin(), pooling.window.end()));
  EXPECT_EQ(pooling.from.y / 2, 1);
  EXPECT_EQ(pooling.from.x / 2, 2);
}

TEST(Explain, WeightsAreRoundedAsThePrecisionMultipliesThem) {
  const models::Model model = tests::tiny_model();
  const models::ParameterLayout layout = models::parameter_layout(model);
  Inspection inspection = inspection_of(model, 3);
  const auto mantissa_bits = [&](core::Precision precision) {
    inspection.precision = precision;
    const Term term = explain(model, layout, inspection, {1, 3, 3, 1}).terms[5];
    int exponent = 0;
    double fraction = std::frexp(static_cast<double>(term.weight), &exponent);
    int bits = 0;
    for (; fraction != std::floor(fraction); fraction *= 2) ++bits;
    return bits;
  };
  EXPECT_LE(mantissa_bits(core::Precision::bf16), 8);
  EXPECT_LE(mantissa_bits(core::Precision::fp16), 11);
  EXPECT_LE(mantissa_bits(core::Precision::tf32), 11);
  EXPECT_GT(mantissa_bits(core::Precision::fp32), 11);
}

TEST(Explain, TheImageHasNoSum) {
  const models::Model model = tests::tiny_model();
  const Inspection inspection = inspection_of(model, 3);
  const Explanation found = explain(model, models::parameter_layout(model), inspection, {0, 4, 4, 1});
  EXPECT_FALSE(found.has_sum);
  EXPECT_EQ(found.value, inspection.outputs[0].at(4, 4, 1));
}

TEST(Explain, RefusesPlacesThatAreNotThere) {
  const models::Model model = tests::tiny_model();
  const models::ParameterLayout layout = models::parameter_layout(model);
  const Inspection inspection = inspection_of(model, 3);
  for (const Place& place : {Place{1, 8, 0, 0}, Place{1, 0, -1, 0}, Place{1, 0, 0, 4}, Place{8, 0, 0, 0}}) {
    EXPECT_THROW(explain(model, layout, inspection, place), core::BadInput);
  }
}

}  // namespace
}  // namespace warpscope::inspect::explain_test
