#pragma once
// Labelled texts in CSV files (csv.h): AG News as it was published, and sets of a person's own.

#include <filesystem>
#include <string>
#include <vector>

#include "gpu/data/csv.h"
#include "gpu/data/sets.h"
#include "gpu/data/text_encoding.h"

namespace warpscope::data {

/// True if one of train.csv, train_part.csv and test.csv is in `folder` itself, or another file that ends in .csv and
/// is the only one. Throws BadInput if `folder` cannot be read.
bool holds_texts(const std::filesystem::path& folder);

/// True if train.csv and test.csv are in `folder` itself, with the sizes of those that were published.
bool ag_news_is_complete(const std::filesystem::path& folder) noexcept;

/// AG News: rows of three fields, the class from 1 to 4, title and description, without a title line; the text is title
/// and description with a blank between. A backslash and an n are a line break. Trained on is train.csv, or
/// train_part.csv where that is not there, which the notice says.
///
/// Throws BadInput with file and line for a row of other fields or another class, that names a file that is missing, or
/// that has more texts than memory.
DataSet load_ag_news(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                     const Stopped& stopped = {});

/// A person's own: rows of a class, by any name, and one field or more of text, which are joined by blanks. A first row
/// "label" or "class", then text, is a title line. Trained on is train.csv, or the one file that ends in .csv; tested
/// with test.csv, or else every tenth row of each class, which the notice says. Classes are in the order of their
/// names, of numbers in that of the numbers.
///
/// Throws BadInput as above, for a row without text, and for a class that only test.csv has.
DataSet load_csv(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                 const Stopped& stopped = {});

/// The text of a row whose fields from `first` on it is made of: those that are not empty, joined by a blank.
std::string text_of(const CsvRow& row, std::size_t first);

/// True for names that end in .csv, in small or capital letters.
bool is_csv(const std::filesystem::path& path);

/// A row that says what the fields of the others are, in small or capital letters: "text" alone, or as load_csv() has
/// it.
bool is_title(const CsvRow& row);

/// Appends a text to a set of 1 x length x 1, as bytes, as text and with its label.
void add_text(std::string text, std::uint8_t label, const Alphabet& alphabet, ImageSet& set);

}  // namespace warpscope::data
