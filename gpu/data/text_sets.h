#pragma once
// Labelled texts in CSV files (text_table.h): AG News as it was published, and sets of a person's own.

#include <filesystem>
#include <string>

#include "gpu/data/sets.h"
#include "gpu/data/text_encoding.h"

namespace warpscope::data {

/// True if a file that ends in .csv is in `folder` itself and is called as a half of a set is (half_in()), or is the
/// only one. Throws BadInput if `folder` cannot be read.
bool holds_texts(const std::filesystem::path& folder);

/// True if train.csv and test.csv are in `folder` itself, with the sizes of those that were published.
bool ag_news_is_complete(const std::filesystem::path& folder) noexcept;

/// AG News: rows of three fields, the class from 1 to 4, title and description; a title line is left out. The text is
/// title and description with a blank between. A backslash and an n are a line break. Trained on is train.csv, or
/// train_part.csv where that is not there, which the notice says.
///
/// Throws BadInput with file and line for a row of other fields or another class, that names a file that is missing, or
/// that has more texts than memory.
DataSet load_ag_news(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                     const Stopped& stopped = {});

/// A person's own: rows of a class, by any name, and one field or more of text, in the columns that read_text_table()
/// tells. Trained on is the file that is called as training data are, or the one file that ends in .csv; tested with
/// the one for that, or that for validation, else every tenth row of each class. Beside a file to test with the texts
/// to validate with are the validation set. Titles and rows without a class are left out. The notice says all that.
/// Classes are in the order of their names, of numbers in that of the numbers.
///
/// Throws BadInput as above, for a row without text, for two files that could be the same half, and for a class that is
/// not in the one to train on.
DataSet load_csv(const SetRow& set, const std::filesystem::path& folder, const Requirements& model,
                 const Stopped& stopped = {});

/// True for names that end in .csv, in small or capital letters.
bool is_csv(const std::filesystem::path& path);

/// Appends a text to a set of 1 x length x 1, as bytes, as text and with its label.
void add_text(std::string text, std::uint8_t label, const Alphabet& alphabet, ImageSet& set);

}  // namespace warpscope::data
