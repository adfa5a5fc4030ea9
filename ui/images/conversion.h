#pragma once
// How floats become the colours on the screen. One set of inline functions for the CPU and for the CUDA
// kernel; both give the same bytes.
//
//   image       byte = round(255 * clamp(v, 0, 1)), one channel as grey, three as RGB
//   difference  d_c = reconstruction_c - original_c over the channels c
//               signed:   t = mean_c d_c / range, clamped to [-1, 1], blue - white - red (blue: too dark)
//               absolute: t = mean_c |d_c| / range, clamped to [0, 1], viridis
//   A pixel with a NaN is magenta, which none of the maps contain.
//
// Colour maps: straight lines in sRGB between a few anchors. The diverging anchors follow C. Brewer's RdBu
// scheme, the others are samples of viridis (S. van der Walt, N. Smith, 2015).

#include <cstdint>

#if defined(__CUDACC__)
#define WARPSCOPE_HOST_DEVICE __host__ __device__
#else
#define WARPSCOPE_HOST_DEVICE
#endif

namespace warpscope::ui::images {

/// One pixel of an RGBA8 texture.
struct alignas(4) Rgba {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  std::uint8_t a = 255;

  bool operator==(const Rgba&) const = default;
};

enum class Difference : std::uint8_t { signed_mean, absolute };

/// What the difference row shows.
struct Conversion {
  Difference difference = Difference::signed_mean;
  float range = 0.25f;  ///< the difference at the end of the colour scale; above 0

  bool operator==(const Conversion&) const = default;
};

namespace detail {

// Products and sums that nvcc may not fuse, so that the GPU rounds as the CPU does.
WARPSCOPE_HOST_DEVICE inline float times(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
WARPSCOPE_HOST_DEVICE inline float plus(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

WARPSCOPE_HOST_DEVICE inline float clamp(float value, float low, float high) {
  return value < low ? low : value > high ? high : value;
}

WARPSCOPE_HOST_DEVICE inline std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(plus(times(clamp(value, 0.0f, 1.0f), 255.0f), 0.5f));
}

WARPSCOPE_HOST_DEVICE inline std::uint8_t mix(std::uint8_t from, std::uint8_t to, float part) {
  const float low = static_cast<float>(from);
  return static_cast<std::uint8_t>(plus(plus(low, times(plus(static_cast<float>(to), -low), part)), 0.5f));
}

/// The colour at `position`, counted in anchors, between 0 and count - 1.
WARPSCOPE_HOST_DEVICE inline Rgba between(const std::uint8_t (*anchors)[3], int count, float position) {
  int index = static_cast<int>(position);
  if (index > count - 2) index = count - 2;
  const float part = plus(position, -static_cast<float>(index));
  const std::uint8_t* from = anchors[index];
  const std::uint8_t* to = anchors[index + 1];
  return {mix(from[0], to[0], part), mix(from[1], to[1], part), mix(from[2], to[2], part), 255};
}

}  // namespace detail

/// The colour of NaN.
WARPSCOPE_HOST_DEVICE inline Rgba not_a_number() {
  return {255, 0, 255, 255};
}

/// Blue - white - red for t in [-1, 1]; values outside take the colours of the ends.
WARPSCOPE_HOST_DEVICE inline Rgba signed_colour(float t) {
  constexpr std::uint8_t kAnchors[5][3] = {
      {33, 102, 172}, {146, 197, 222}, {255, 255, 255}, {244, 165, 130}, {178, 24, 43}};
  if (t != t) return not_a_number();
  return detail::between(kAnchors, 5, detail::times(detail::plus(detail::clamp(t, -1.0f, 1.0f), 1.0f), 2.0f));
}

/// Viridis for t in [0, 1]; values outside take the colours of the ends.
WARPSCOPE_HOST_DEVICE inline Rgba magnitude_colour(float t) {
  constexpr std::uint8_t kAnchors[9][3] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                           {44, 114, 142}, {33, 145, 140}, {40, 174, 128},
                                           {94, 201, 98},  {173, 220, 48}, {253, 231, 37}};
  if (t != t) return not_a_number();
  return detail::between(kAnchors, 9, detail::times(detail::clamp(t, 0.0f, 1.0f), 8.0f));
}

/// The colour of a pixel with `channels` values: RGB from three channels on, grey below.
WARPSCOPE_HOST_DEVICE inline Rgba image_colour(const float* pixel, int channels) {
  const bool colour = channels >= 3;
  const float r = pixel[0];
  const float g = colour ? pixel[1] : r;
  const float b = colour ? pixel[2] : r;
  if (r != r || g != g || b != b) return not_a_number();
  return {detail::to_byte(r), detail::to_byte(g), detail::to_byte(b), 255};
}

/// The number that difference_colour() shows: the mean over the channels of the difference or of its
/// absolute value.
WARPSCOPE_HOST_DEVICE inline float mean_difference(const float* original, const float* reconstruction,
                                                   int channels, Difference kind) {
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    const float difference = detail::plus(reconstruction[c], -original[c]);
    sum = detail::plus(sum, kind == Difference::absolute && difference < 0 ? -difference : difference);
  }
  return sum / static_cast<float>(channels);
}

WARPSCOPE_HOST_DEVICE inline Rgba difference_colour(const float* original, const float* reconstruction,
                                                    int channels, const Conversion& conversion) {
  const float mean = mean_difference(original, reconstruction, channels, conversion.difference);
  const float t = mean / conversion.range;
  return conversion.difference == Difference::signed_mean ? signed_colour(t) : magnitude_colour(t);
}

}  // namespace warpscope::ui::images
