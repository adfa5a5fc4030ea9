#include "gpu/data/split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"

namespace warpscope::data {
namespace {

using Places = std::vector<std::size_t>;

std::vector<Places> places_of_classes(const ImageSet& set) {
  std::vector<Places> places(kMostClasses);
  for (std::size_t i = 0; i < set.labels.size(); ++i) places[set.labels[i]].push_back(i);
  return places;
}

/// How many images each class gives, `wanted` together: its exact share rounded down, and one more where most
/// is cut off.
std::vector<std::size_t> quotas(const std::vector<Places>& places, std::size_t images, std::size_t wanted) {
  std::vector<std::size_t> quota(places.size());
  std::vector<std::pair<std::size_t, std::size_t>> remainders;  // how much is cut off, in 1/images; the class
  std::size_t given = 0;
  for (std::size_t c = 0; c < places.size(); ++c) {
    const std::size_t exact = places[c].size() * wanted;
    quota[c] = exact / images;
    given += quota[c];
    remainders.emplace_back(exact % images, c);
  }
  std::ranges::stable_sort(remainders, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; given < wanted; ++i, ++given) ++quota[remainders[i].second];
  return quota;
}

/// Marks the images of each class that a shuffle by `seed` brings to the front.
std::vector<bool> draw(std::vector<Places> places, const std::vector<std::size_t>& quota, std::size_t images,
                       std::uint64_t seed) {
  std::vector<bool> drawn(images);
  std::uint64_t counter = 0;
  for (std::size_t c = 0; c < places.size(); ++c) {
    Places& of_class = places[c];
    for (std::size_t i = 0; i < quota[c]; ++i) {
      const auto left = static_cast<double>(of_class.size() - i);
      const auto ahead = static_cast<std::size_t>(core::random_unit(seed, counter++) * left);
      std::swap(of_class[i], of_class[std::min(i + ahead, of_class.size() - 1)]);
      drawn[of_class[i]] = true;
    }
  }
  return drawn;
}

}  // namespace

DataSet split_validation(DataSet&& set, double share, std::uint64_t seed) {
  if (!(share >= 0 && share < 1)) {
    throw core::BadInput(
        fmt::format("the share of validation images is {}; valid: from 0 to less than 1", share));
  }
  if (share == 0) return std::move(set);
  if (set.validation.count != 0) {
    throw core::BadInput(
        fmt::format("{} has validation data of its own, {} of them; leave --validation away, or take them "
                    "out of its folder",
                    set.name, set.validation.count));
  }
  const auto images = static_cast<std::size_t>(set.train.count);
  const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(images)));
  if (wanted == 0 || wanted == images) {
    throw core::BadInput(
        fmt::format("a share of {} of {} training images leaves no image for {}; choose another share or a "
                    "larger data set",
                    share, images, wanted == 0 ? "validation" : "training"));
  }
  std::vector<Places> places = places_of_classes(set.train);
  const std::vector<std::size_t> quota = quotas(places, images, wanted);
  const std::vector<bool> drawn = draw(std::move(places), quota, images, seed);
  ImageSet validation;
  move_images(drawn, set.train, validation);
  set.validation = std::move(validation);
  return std::move(set);
}

std::vector<bool> every_tenth(const ImageSet& set) {
  constexpr std::size_t kEvery = 10;
  std::vector<std::size_t> sizes(kMostClasses), places(kMostClasses);
  for (const std::uint8_t label : set.labels) ++sizes[label];
  std::vector<bool> chosen(set.labels.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t size = sizes[set.labels[i]];
    const std::size_t place = places[set.labels[i]]++;
    chosen[i] = size < kEvery ? size > 1 && place + 1 == size : place % kEvery == kEvery - 1;
  }
  return chosen;
}

void move_images(const std::vector<bool>& moved, ImageSet& from, ImageSet& to) {
  const std::int64_t image_bytes = from.image_bytes();
  const std::int64_t count = to.count + std::ranges::count(moved, true);
  to.height = from.height;
  to.width = from.width;
  to.channels = from.channels;
  to.pixels.resize(static_cast<std::size_t>(count * image_bytes));
  to.labels.resize(static_cast<std::size_t>(count));
  if (!from.texts.empty()) to.texts.resize(static_cast<std::size_t>(count));
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    ImageSet& target = moved[i] ? to : from;
    const std::int64_t place = moved[i] ? to.count++ : kept++;
    const std::uint8_t* image = from.pixels.data() + static_cast<std::int64_t>(i) * image_bytes;
    std::uint8_t* at = target.pixels.data() + place * image_bytes;
    if (image != at) std::copy_n(image, image_bytes, at);
    target.labels[static_cast<std::size_t>(place)] = from.labels[i];
    if (!from.texts.empty() && (moved[i] || static_cast<std::size_t>(place) != i)) {
      target.texts[static_cast<std::size_t>(place)] = std::move(from.texts[i]);
    }
  }
  from.count = kept;
  from.pixels.resize(static_cast<std::size_t>(kept * image_bytes));
  from.labels.resize(static_cast<std::size_t>(kept));
  if (!from.texts.empty()) from.texts.resize(static_cast<std::size_t>(kept));
}

}  // namespace warpscope::data
