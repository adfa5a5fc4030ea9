#include "gpu/data/csv.h"

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::data {
void CsvReader::refuse(std::size_t line, const char* what) const {
  throw core::BadInput(fmt::format("{}:{}: {}", where_, line, what));
}

bool CsvReader::at_line_end() const {
  return at_ < text_.size() && (text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n");
}

void CsvReader::pass_line_end() {
  at_ += text_[at_] == '\n' ? 1 : 2;
  ++line_;
}

/// From its opening quote to behind its closing one.
std::string CsvReader::quoted_field() {
  const std::size_t begin = line_;
  std::string field;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      if (text_.substr(at_, 2) != "\"\"") {
        ++at_;
        return field;
      }
      ++at_;
    } else if (text_[at_] == '\n') {
      ++line_;
    }
    field += text_[at_];
  }
  refuse(begin, "a quote is not closed");
}

std::string CsvReader::plain_field() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) {
    if (text_[at_] == '"')
      refuse(line_, "a quote stands in a field that does not begin with one; double it, in quotes");
    ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::optional<CsvRow> CsvReader::next() {
  while (at_line_end()) pass_line_end();
  if (at_ >= text_.size()) return std::nullopt;
  CsvRow row{line_, {}};
  for (;; ++at_) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    row.fields.push_back(quoted ? quoted_field() : plain_field());
    if (at_ >= text_.size()) return row;
    if (at_line_end()) {
      pass_line_end();
      return row;
    }
    if (text_[at_] != ',') refuse(line_, "something stands between a closing quote and the next comma");
  }
}

}  // namespace warpscope::data
