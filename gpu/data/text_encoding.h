#pragma once
// Texts as the bytes that a network takes: a byte a character.
// Source: X. Zhang, J. Zhao, Y. LeCun, "Character-level convolutional networks for text classification" (2015),
// section 2.2, for the order and for what becomes of other characters.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace warpscope::data {

/// The characters that a network tells apart.
class Alphabet {
 public:
  /// 1 to 255 different code points in UTF-8. Throws BadInput that says what is wrong.
  explicit Alphabet(std::string_view characters);

  int size() const { return static_cast<int>(points_.size()); }

  /// `bytes.size()` bytes of a text in UTF-8, which may be empty or broken: of its first bytes.size() characters, the
  /// last one first, each its place in the alphabet + 1, or 0 if it is not there; 0 behind the first character. A
  /// sequence of bytes that is no UTF-8 is one character that is not there (files::decode_utf8()). Capital letters
  /// count as small ones if the alphabet has no capitals (files::small_letter()).
  void encode(std::string_view text, std::span<std::uint8_t> bytes) const;
  std::vector<std::uint8_t> encode(std::string_view text, int length) const;

  /// The text that encode() has seen, as far as the bytes tell: characters in reading order, a middle dot where
  /// one is not in the alphabet, nothing for what lies behind the first.
  std::string decode(std::span<const std::uint8_t> bytes) const;

 private:
  std::uint8_t byte_of(char32_t point) const;

  std::vector<char32_t> points_;
  std::unordered_map<char32_t, std::uint8_t> bytes_;
  bool folds_ = false;  ///< capital letters count as small ones
};

}  // namespace warpscope::data
