#pragma once
// Texts of a data set, where panels show pictures of other sets.

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/messages/snapshot.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

/// The training's data are texts, whose bytes are no pictures.
bool trains_on_texts(const Frame& frame);

/// A sentence that is written for images, as it is said where the data are texts: "a text" for "an image", "texts" for
/// "images".
std::string said_of_texts(std::string sentence);
/// The sentence as it is said of the training's data.
std::string said_of_data(const Frame& frame, std::string sentence);

/// What a figure of an evaluation over several views of each image means, in a sentence behind others, which it begins
/// with a blank; "" of one view.
std::string views_sentence(const training::Snapshot& snapshot);

/// The name of a class, escaped, or its number where it has none.
std::string class_name(const training::DataView* data, std::size_t index);

/// What may be shown of a text: control characters are blanks, what is no UTF-8 is U+FFFD, nothing is "(empty)", what
/// is not there yet "...".
std::string shown_text(const training::DataView& data, training::DataPart part, std::int64_t number);

}  // namespace warpscope::ui
