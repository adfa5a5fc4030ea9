#pragma once
// The checksums that a PNG file carries.
// Source: "Portable Network Graphics (PNG) Specification (Second Edition)", sections 5.3 to 5.5 and 10; RFC 1950.

#include <string>
#include <string_view>

namespace warpscope::data {

/// What is damaged in a PNG file, as a sentence goes on behind "is damaged: "; "" if all is well: chunks of the lengths
/// that they tell, with the right CRC each, up to IEND, and packed pixels with the right Adler-32. Takes any bytes that
/// begin as PNG does.
std::string png_damage(std::string_view file);

}  // namespace warpscope::data
