#pragma once
// What people are told of a data set: classes, their sizes, and what was left out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"

namespace warpscope::data {

/// Adds a sentence to others; nothing for "".
void add_notice(const std::string& sentence, std::string& notice);

/// How many images of each class there are.
std::vector<std::int64_t> class_sizes(const ImageSet& set, std::size_t classes);

/// "2 classes, training/test images: cat 90/10, dog 9/1", of many classes the first and the smallest; and which classes
/// have images in only one half.
std::string tell_classes(const DataSet& set);

}  // namespace warpscope::data
