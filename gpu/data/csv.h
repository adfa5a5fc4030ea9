#pragma once
// Comma-separated values as people and programs write them.
// Source: RFC 4180.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::data {

struct CsvRow {
  std::size_t line = 0;  ///< on which it begins, from 1 on
  std::vector<std::string> fields;
};

/// Reads one text row after the other. Fields are separated by commas; those in quotes may hold commas, line breaks
/// and, doubled, quotes. Lines end with LF or CRLF, the last one need not; empty ones are passed over. Blanks
/// belong to their field.
class CsvReader {
 public:
  /// `where` stands for the file in messages.
  CsvReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  /// The next row; nothing at the end. Throws BadInput "FILE:LINE: ..." for a quote that is not closed, something
  /// behind a closing quote, a quote within a field that has none around it.
  std::optional<CsvRow> next();

 private:
  [[noreturn]] void refuse(std::size_t line, const char* what) const;
  std::string quoted_field();
  std::string plain_field();
  bool at_line_end() const;
  void pass_line_end();

  std::string_view text_, where_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace warpscope::data
