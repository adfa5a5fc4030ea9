#pragma once
// CSV files (csv.h) of texts and their classes: which column is which, and which row is none but a title.

#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/data/sets.h"

namespace warpscope::data {

struct TextRow {
  std::string label;  ///< the name of its class without blanks around it; "": it has none
  std::string text;
  std::size_t line = 0;  ///< on which it begins, from 1 on
};

struct TextTable {
  std::filesystem::path path;
  std::vector<TextRow> rows;
  /// The first of `rows` is that of the file: by its words it is no title.
  bool untitled = true;
  std::string notice = {};  ///< of title, columns and encoding; "" if there is nothing to tell
};

/// How many fields a row has where no title says it.
struct Fields {
  std::size_t least = 1;
  std::size_t most = static_cast<std::size_t>(-1);
};

/// Reads a file. Where the words of the first row are those of a title ("label,text", "review", "Class
/// Index,Title,Description", in small or capital letters, with blanks around them), it says which column is the class
/// and which are the text; the row is left out, and `notice` says so. Else the first field of several is the class and
/// the others are the text, which are joined by blanks; a single field is the text.
///
/// Throws core::BadInput with file and line as CsvReader does, for a row with fewer or more fields than are needed, and
/// for a file without rows; as read_text_file() does.
TextTable read_text_table(const std::filesystem::path& path, const Fields& fields,
                          const Stopped& stopped = {});

/// Leaves out the first row of the first table that must be a title though its words do not tell: the label stands in
/// no other row of any table and is no number among numbers, while several classes remain, or some that are `known`;
/// and of the other tables a first row with the same label. `notice` of a table then says so.
void drop_strange_titles(std::span<TextTable* const> tables, const std::set<std::string>& known = {});

/// Leaves out rows without a class; `notice` counts them.
void drop_unlabelled(TextTable& table);

}  // namespace warpscope::data
