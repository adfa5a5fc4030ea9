#pragma once
// PPM and PGM files, with pixels as bytes or as text.
// Source: J. Poskanzer, B. Henderson, "Netpbm", the pages ppm(5) and pgm(5).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

struct PnmHeader {
  ImageShape shape;           ///< one channel or three
  std::uint32_t largest = 0;  ///< the number of the brightest, to 65,535
  std::size_t behind = 0;     ///< where the pixels begin
  bool as_text = false;
};

/// True if `bytes` begin as such a file does.
bool begins_like_pnm(std::string_view bytes);

/// Nothing where a file that begins so has no valid header.
std::optional<PnmHeader> pnm_header(std::string_view file);

/// The pixels, 255 for the largest number; nothing if the file ends before, or has something else in their place.
std::optional<std::vector<std::uint8_t>> pnm_pixels(std::string_view file, const PnmHeader& header);

}  // namespace warpscope::data
