#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/digit_strokes.h"
#include "gpu/data/set_kinds.h"

namespace warpscope::data {
namespace {

constexpr std::int64_t kMostImages = 10'000'000;
constexpr std::int64_t kPieceImages = 100;
constexpr int kDigits = 10;

// Far apart, so that no image of one set has the seed of one of the other.
constexpr std::uint64_t kTrainDigits = 0x6469'6769'0000'0000ULL;
constexpr std::uint64_t kTestDigits = 0x7473'5f31'0000'0000ULL;

/// A short stroke that belongs to nothing.
Drawing stray_mark(Random& random) {
  constexpr int kSize = kDigitSide * kPixel;
  Drawing mark;
  mark.pieces = 1;
  mark.from[0].x = random.range(0, kSize);
  mark.from[0].y = random.range(0, kSize);
  mark.to[0].x = mark.from[0].x + random.range(-1000, 1000);
  mark.to[0].y = mark.from[0].y + random.range(-1000, 1000);
  return mark;
}

/// Paints one digit as bytes.
void paint(int digit, Random& random, std::uint8_t* bytes) {
  Ink ink{};
  const Drawing ideal = draw_digit(digit, random);
  const Hand hand(random);
  draw(place(ideal, hand), random.range(150, 420), ink);
  Ink marks{};
  const int mark_count = std::max(0, random.range(-1, 2));
  for (int i = 0; i < mark_count; ++i) {
    const Drawing mark = stray_mark(random);
    draw(mark, random.range(60, 200), marks);
  }
  const int ink_level = random.range(150, 255);
  const int mark_level = random.range(60, 200);
  const int grain = random.range(4, 40);
  for (int i = 0; i < kDigitPixels; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::uint64_t bits = random.next();
    // The sum of two bytes less their mean: a triangle from -256 to 254, nearly a bell.
    const int noise = static_cast<int>(bits & 255) + static_cast<int>(bits >> 8 & 255) - 256;
    const int value = std::max(ink[at] * ink_level, marks[at] * mark_level) + noise * grain;
    bytes[i] = static_cast<std::uint8_t>(std::clamp(value >> 8, 0, 255));
  }
}

ImageSet make_set(std::int64_t count, std::uint64_t seed, int threads) {
  if (count < 0 || count > kMostImages) {
    throw core::BadInput(
        fmt::format("the built-in digits can be 0 to {} images, not {}", kMostImages, count));
  }
  ImageSet set = make_image_set({kDigitSide, kDigitSide, 1}, count);
  core::parallel_for(count, kPieceImages, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const int digit = dealt_class(seed, i, kDigits);
      Random random(core::mix_bits(seed + static_cast<std::uint64_t>(i)));
      paint(digit, random, set.pixels.data() + i * kDigitPixels);
      set.labels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(digit);
    }
  });
  return set;
}

}  // namespace

DataSet make_builtin_digits(std::int64_t train, std::int64_t test, std::uint64_t seed, int threads) {
  DataSet set;
  for (int digit = 0; digit < kDigits; ++digit) set.classes.push_back(std::to_string(digit));
  const std::uint64_t salt = seed == 0 ? 0 : core::mix_bits(seed);
  set.train = make_set(train, kTrainDigits + salt, threads);
  set.test = make_set(test, kTestDigits + salt, threads);
  return set;
}

}  // namespace warpscope::data
