#include "ui/widgets/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ui/images/conversion.h"

namespace warpscope::ui::theme_test {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

// How eyes without one kind of cone see linear RGB: G. Machado, M. Oliveira, L. Fernandes, "A Physiologically-based
// Model for Simulation of Color Vision Deficiency" (2009), severity 1.0. The first is the usual eye.
constexpr std::array<Matrix, 4> kEyes{
    Matrix{Triple{1, 0, 0}, Triple{0, 1, 0}, Triple{0, 0, 1}},
    Matrix{Triple{0.152286, 1.052583, -0.204868}, Triple{0.114503, 0.786281, 0.099216},
           Triple{-0.003882, -0.048116, 1.051998}},
    Matrix{Triple{0.367322, 0.860646, -0.227968}, Triple{0.280085, 0.672501, 0.047413},
           Triple{-0.011820, 0.042940, 0.968881}},
    Matrix{Triple{1.255528, -0.076749, -0.178779}, Triple{-0.078411, 0.930809, 0.147602},
           Triple{0.004733, 0.691367, 0.303900}}};

double linear(ImU32 color, int shift) {
  const double value = ((color >> static_cast<unsigned>(shift)) & 255U) / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

Triple seen(ImU32 color, const Matrix& eye) {
  const Triple rgb{linear(color, 0), linear(color, 8), linear(color, 16)};
  Triple result{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double sum = eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2];
    result[i] = std::clamp(sum, 0.0, 1.0);
  }
  return result;
}

// CIE 1976 L*a*b* under D65.
Triple lab(const Triple& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(ImU32 a, ImU32 b, const Matrix& eye) {
  const Triple p = lab(seen(a, eye)), q = lab(seen(b, eye));
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

// The least distance between two of them that any eye sees.
double least_distance(const std::vector<ImU32>& colors) {
  double least = 1e9;
  for (const Matrix& eye : kEyes) {
    for (std::size_t i = 0; i < colors.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) least = std::min(least, distance(colors[i], colors[j], eye));
    }
  }
  return least;
}

std::vector<ImU32> texts_of(const Palette& palette) {
  return {palette.text, palette.muted, palette.accent, palette.good, palette.warning, palette.error};
}

TEST(Contrast, IsThatOfTheGuidelines) {
  EXPECT_NEAR(contrast(IM_COL32_BLACK, IM_COL32_WHITE), 21, 1e-9);
  EXPECT_NEAR(contrast(IM_COL32_WHITE, IM_COL32_BLACK), 21, 1e-9);
  EXPECT_NEAR(contrast(IM_COL32(119, 119, 119, 255), IM_COL32_WHITE), 4.48, 0.005);
  EXPECT_EQ(readable_on(IM_COL32_WHITE, IM_COL32_WHITE, IM_COL32_BLACK), IM_COL32_BLACK);
}

TEST(Themes, TextCanBeReadOnAllItStandsOn) {
  ASSERT_EQ(themes().size(), 4U);
  for (const ThemeRow& theme : themes()) {
    const Palette& palette = theme.palette;
    for (const ImU32 text : texts_of(palette)) {
      for (const ImU32 back : {palette.panel, palette.popup, palette.control, palette.control_hovered}) {
        EXPECT_GE(contrast(text, back), 4.5) << theme.id << std::hex << " " << text << " on " << back;
      }
    }
  }
}

TEST(Themes, LinesCanBeSeenOnAPanel) {
  for (const ThemeRow& theme : themes()) {
    std::vector<ImU32> lines(theme.palette.series, theme.palette.series + 8);
    lines.insert(lines.end(), {theme.palette.more_classes[0], theme.palette.more_classes[1]});
    for (const ImU32 line : lines) {
      EXPECT_GE(contrast(line, theme.palette.panel), 3) << theme.id << std::hex << " " << line;
    }
  }
}

TEST(Themes, ThoseForEveryEyeDifferForEveryEye) {
  for (const Theme theme : {Theme::dark_safe, Theme::light_safe}) {
    const Palette& palette = facts_of(theme).palette;
    EXPECT_GE(least_distance({palette.good, palette.warning, palette.error, palette.accent, palette.text}),
              18)
        << facts_of(theme).id;
    EXPECT_GE(least_distance({palette.accent, palette.muted}), 18) << facts_of(theme).id;
    std::vector<ImU32> classes(palette.series, palette.series + 8);
    classes.insert(classes.end(), {palette.more_classes[0], palette.more_classes[1]});
    EXPECT_GE(least_distance(classes), 18) << facts_of(theme).id;
  }
  // What the test can tell: red and green of the usual dark theme are close to some eyes.
  const Palette& usual = facts_of(Theme::dark).palette;
  EXPECT_LT(least_distance({usual.good, usual.error}), 18);
}

TEST(Themes, AreFoundByTheirNames) {
  EXPECT_EQ(theme_called("light"), Theme::light);
  EXPECT_EQ(theme_called("dark_safe"), Theme::dark_safe);
  EXPECT_FALSE(theme_called("pink").has_value());
}

TEST(SignedColours, BothSignsDifferForEveryEye) {
  const auto color = [](float t) {
    const images::Rgba rgba = images::signed_colour(t);
    return IM_COL32(rgba.r, rgba.g, rgba.b, 255);
  };
  for (const float t : {0.25f, 0.5f, 0.75f, 1.0f}) {
    for (const Matrix& eye : kEyes) EXPECT_GE(distance(color(t), color(-t), eye), 18) << t;
  }
}

}  // namespace
}  // namespace warpscope::ui::theme_test
