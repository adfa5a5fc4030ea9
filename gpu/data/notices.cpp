#include "gpu/data/notices.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"

namespace warpscope::data {
namespace {

constexpr std::size_t kMostNames = 12;

/// What is known of the sizes of all classes.
struct Sizes {
  std::vector<std::vector<std::int64_t>> halves;  ///< training, validation if there is one, test; by class

  std::string of(std::size_t label) const {
    std::vector<std::string> numbers;
    for (const auto& half : halves) numbers.push_back(files::grouped(half[label]));
    return fmt::format("{}", fmt::join(numbers, "/"));
  }
  std::int64_t trained(std::size_t label) const { return halves.front()[label]; }
  std::int64_t held_out(std::size_t label) const {
    std::int64_t sum = 0;
    for (std::size_t half = 1; half < halves.size(); ++half) sum += halves[half][label];
    return sum;
  }
};

/// For people.
std::string name_of(const DataSet& set, std::size_t label) {
  return files::escaped(set.classes[label]);
}

/// "a 3/1, b 2/0", the first of many.
std::string list(const std::vector<std::size_t>& labels, const Sizes& sizes, const DataSet& set) {
  std::vector<std::string> parts;
  for (const std::size_t label : labels) {
    if (parts.size() == kMostNames) break;
    parts.push_back(fmt::format("{} {}", name_of(set, label), sizes.of(label)));
  }
  if (parts.size() < labels.size()) parts.push_back(fmt::format("{} more", labels.size() - parts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The classes that `chosen` takes, by name.
template <class Chosen>
std::string names(const DataSet& set, const Chosen& chosen) {
  std::vector<std::string> found;
  std::size_t more = 0;
  for (std::size_t label = 0; label < set.classes.size(); ++label) {
    if (!chosen(label)) continue;
    found.size() < kMostNames ? found.push_back(name_of(set, label)) : void(++more);
  }
  if (more > 0) found.push_back(fmt::format("{} more", more));
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

void add_notice(const std::string& sentence, std::string& notice) {
  if (!sentence.empty()) notice += (notice.empty() ? "" : "; ") + sentence;
}

std::vector<std::int64_t> class_sizes(const ImageSet& set, std::size_t classes) {
  std::vector<std::int64_t> sizes(classes);
  for (const std::uint8_t label : set.labels) {
    if (label < classes) ++sizes[label];
  }
  return sizes;
}

std::string tell_classes(const DataSet& set) {
  const std::size_t classes = set.classes.size();
  Sizes sizes;
  const bool validates = set.validation.count > 0;
  sizes.halves.push_back(class_sizes(set.train, classes));
  if (validates) sizes.halves.push_back(class_sizes(set.validation, classes));
  sizes.halves.push_back(class_sizes(set.test, classes));
  std::vector<std::size_t> labels(classes);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  std::string told = fmt::format("{}, training/{}test {}: {}", files::counted(classes, "class", "classes"),
                                 validates ? "validation/" : "", set.train.texts.empty() ? "images" : "texts",
                                 list(labels, sizes, set));
  if (classes > kMostNames) {
    const auto fewer = [&](std::size_t a, std::size_t b) { return sizes.trained(a) < sizes.trained(b); };
    const std::size_t smallest = *std::ranges::min_element(labels, fewer);
    const std::size_t largest = *std::ranges::max_element(labels, fewer);
    told += fmt::format("; the smallest is {} {}, the largest {} {}", name_of(set, smallest),
                        sizes.of(smallest), name_of(set, largest), sizes.of(largest));
  }
  const std::string untested =
      names(set, [&](std::size_t c) { return sizes.trained(c) > 0 && sizes.held_out(c) == 0; });
  const std::string untrained = names(set, [&](std::size_t c) { return sizes.trained(c) == 0; });
  if (!untested.empty()) add_notice("only to train on: " + untested, told);
  if (!untrained.empty()) add_notice("not to train on: " + untrained, told);
  return told;
}

}  // namespace warpscope::data
