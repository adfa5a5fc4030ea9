#pragma once
// What batch.augment draws for an image and makes of a pixel (augment.cpp), the same in all variants. Real is
// float or double.

#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/augment/mixup.h"
#include "gpu/ops/op.h"

namespace warpscope::ops::augment {

/// An image's extents.
struct Extents {
  int height;
  int width;
  int channels;
};

inline Extents extents_of(const OpShape& shape) {
  return {shape.height, shape.width, shape.in_channels};
}

/// What is drawn for one image.
template <class Real>
struct ImageDraw {
  int down = 0;  ///< rows and columns to go on in the data set's image: d and e
  int right = 0;
  int top = 0;  ///< of the square that is cut out, whose side is 0 if there is none
  int left = 0;
  int side = 0;
  bool mirrored = false;
  bool coloured = false;  ///< the three factors are not all 1
  Real brightness{1};
  Real contrast{1};
  Real saturation{1};
};

/// Uniform in {0 .. count - 1}.
WARPSCOPE_BOTH inline int below(std::uint32_t bits, int count) {
  return static_cast<int>(std::uint64_t{bits} * static_cast<std::uint32_t>(count) >> 32);
}

/// Uniform in {-m .. m}, m = min(most, extent - 1).
WARPSCOPE_BOTH inline int shift_of(std::uint32_t bits, std::uint32_t most, int extent) {
  const int limit = static_cast<std::uint32_t>(extent - 1) < most ? extent - 1 : static_cast<int>(most);
  return below(bits, 2 * limit + 1) - limit;
}

/// c(shift, extent): what of a shift reflected() takes.
WARPSCOPE_BOTH inline int within(int shift, int extent) {
  if (shift < 1 - extent) return 1 - extent;
  return shift < extent ? shift : extent - 1;
}

/// A factor of the colours.
template <class Real>
WARPSCOPE_BOTH Real factor_of(std::uint32_t bits, float jitter) {
  const Real unit = static_cast<Real>(bits >> 8) * static_cast<Real>(0x1p-24);
  const auto strength = static_cast<Real>(jitter);
  return (Real{1} - strength) + 2 * strength * unit;
}

WARPSCOPE_BOTH inline std::uint32_t lower_half(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
WARPSCOPE_BOTH inline std::uint32_t upper_half(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

/// What image `n` of the batch draws; `key` is dropout::key_of(control, kSalt).
template <class Real>
WARPSCOPE_BOTH ImageDraw<Real> draw_image(const step::StepControl& control, std::uint64_t key,
                                          std::uint64_t n, const Extents& extents) {
  ImageDraw<Real> draw;
  if (control.crop != 0) {
    const std::uint64_t word = core::random_bits(key, 4 * n);
    draw.down = shift_of(lower_half(word), control.crop, extents.height);
    draw.right = shift_of(upper_half(word), control.crop, extents.width);
  }
  draw.down = within(draw.down + within(control.shift_down, extents.height), extents.height);
  draw.right = within(draw.right + within(control.shift_right, extents.width), extents.width);
  if (control.cutout != 0) {
    const std::uint64_t word = core::random_bits(key, 4 * n + 1);
    draw.side = static_cast<int>(control.cutout);
    draw.top = below(lower_half(word), extents.height) - draw.side / 2;
    draw.left = below(upper_half(word), extents.width) - draw.side / 2;
  }
  draw.coloured = control.jitter > 0.0f;
  draw.mirrored = control.flip == step::kFlipAll;
  if (!draw.coloured && control.flip != step::kFlipHalf) return draw;
  const std::uint64_t last = core::random_bits(key, 4 * n + 3);
  if (control.flip == step::kFlipHalf) draw.mirrored = (last >> 63) != 0;
  if (!draw.coloured) return draw;
  const std::uint64_t word = core::random_bits(key, 4 * n + 2);
  draw.brightness = factor_of<Real>(lower_half(word), control.jitter);
  draw.contrast = factor_of<Real>(upper_half(word), control.jitter);
  draw.saturation = factor_of<Real>(lower_half(last), control.jitter);
  return draw;
}

/// r(i, length); i is less than `length` outside.
WARPSCOPE_BOTH inline int reflected(int i, int length) {
  if (i < 0) return -i;
  return i < length ? i : 2 * (length - 1) - i;
}

/// Whether the pixel lies in the square that is cut out.
template <class Real>
WARPSCOPE_BOTH bool is_cut_out(const ImageDraw<Real>& draw, int row, int column) {
  return static_cast<unsigned>(row - draw.top) < static_cast<unsigned>(draw.side) &&
         static_cast<unsigned>(column - draw.left) < static_cast<unsigned>(draw.side);
}

/// The row and the column of the data set's image from which a pixel comes.
template <class Real>
WARPSCOPE_BOTH int source_row(const ImageDraw<Real>& draw, int row, const Extents& extents) {
  return reflected(row + draw.down, extents.height);
}
template <class Real>
WARPSCOPE_BOTH int source_column(const ImageDraw<Real>& draw, int column, const Extents& extents) {
  return reflected((draw.mirrored ? extents.width - 1 - column : column) + draw.right, extents.width);
}

template <class Real>
WARPSCOPE_BOTH Real clamped(Real value) {
  if (value < Real{0}) return Real{0};
  return value > Real{1} ? Real{1} : value;
}

/// A byte after brightness and contrast.
template <class Real>
WARPSCOPE_BOTH Real lit(const ImageDraw<Real>& draw, std::uint8_t byte) {
  const Real value = static_cast<Real>(byte) / static_cast<Real>(255);
  if (!draw.coloured) return value;
  constexpr auto kMiddle = static_cast<Real>(0.5);
  return clamped(kMiddle + draw.contrast * (clamped(draw.brightness * value) - kMiddle));
}

template <class Real>
WARPSCOPE_BOTH Real luma(Real red, Real green, Real blue) {
  return static_cast<Real>(0.299) * red + static_cast<Real>(0.587) * green + static_cast<Real>(0.114) * blue;
}

template <class Real>
WARPSCOPE_BOTH Real saturated(const ImageDraw<Real>& draw, Real value, Real grey) {
  return clamped(grey + draw.saturation * (value - grey));
}

/// Channel c of a pixel, from its bytes.
template <class Real>
WARPSCOPE_BOTH Real shade(const ImageDraw<Real>& draw, const std::uint8_t* bytes, int channels, int c) {
  const Real value = lit(draw, bytes[c]);
  if (!draw.coloured || channels != 3) return value;
  return saturated(draw, value, luma(lit(draw, bytes[0]), lit(draw, bytes[1]), lit(draw, bytes[2])));
}

/// a[n,row,column,c], of the data set's image `bytes`.
template <class Real>
WARPSCOPE_BOTH Real element_of(const ImageDraw<Real>& draw, const std::uint8_t* bytes, const Extents& extents,
                               int row, int column, int c) {
  if (is_cut_out(draw, row, column)) return static_cast<Real>(0.5);
  const std::int64_t pixel =
      std::int64_t{source_row(draw, row, extents)} * extents.width + source_column(draw, column, extents);
  return shade(draw, bytes + pixel * extents.channels, extents.channels, c);
}

}  // namespace warpscope::ops::augment
