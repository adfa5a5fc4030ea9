#pragma once
// How a picture was held, as cameras and telephones note it.
// Source: CIPA DC-008, "Exchangeable image file format for digital still cameras: Exif Version 2.32", 4.6.4, tag
// Orientation; TIFF 6.0 for the fields around it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// The orientation that a JPEG, PNG or WebP file tells, from 1 to 8: what the first row and the first column of its
/// pixels are to whoever looks at it. 1, row is top and column is left, where nothing (or something else) is told.
/// Takes any bytes.
int exif_orientation(std::string_view file);

/// The pixels as they are to be seen, with the size that they then have in `shape`.
std::vector<std::uint8_t> turned(const std::uint8_t* pixels, int orientation, ImageShape& shape);

}  // namespace warpscope::data
