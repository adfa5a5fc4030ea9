#pragma once
// Text from outside, made fit to be shown and written.

#include <cstddef>
#include <string>
#include <string_view>

namespace warpscope::runs {

/// `text` as valid UTF-8: what is not becomes U+FFFD.
std::string valid_utf8(std::string_view text);

/// Its first `most` characters, with an ellipsis behind them where there are more. `text` is valid UTF-8.
std::string shortened(const std::string& text, std::size_t most);

/// files::escaped() for XML 1.0: & < > " ' as entities.
std::string xml_text(std::string_view text);

}  // namespace warpscope::runs
