#pragma once
// Bytes that need not be UTF-8, as those of paths, in texts that have to be.

#include <optional>
#include <string>
#include <string_view>

namespace warpscope::files {

/// What a field is called that holds the bytes of another one whose text is not UTF-8: its name and this.
inline constexpr std::string_view kBytesOf = "_bytes";

bool is_utf8(std::string_view text);

/// ASCII: each byte that is no letter, digit or one of - . _ ~ / : as % and two hexadecimal digits.
/// Source: RFC 3986, section 2.1.
std::string percent_encoded(std::string_view bytes);

/// The other way round; nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace warpscope::files
