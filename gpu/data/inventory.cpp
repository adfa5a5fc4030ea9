#include "gpu/data/inventory.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/locate.h"
#include "gpu/data/set_kinds.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

/// That of built-in scenes.
constexpr std::int64_t kTrainedForEachTested = 5;

ImageSet samples_of(const ImageSet& set) {
  const std::int64_t count = std::min(set.count, kSamples);
  ImageSet samples = make_image_set(set.shape(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t image = i * set.count / count;
    const auto from = set.pixels.begin() + image * set.image_bytes();
    std::copy(from, from + set.image_bytes(), samples.pixels.begin() + i * set.image_bytes());
    samples.labels[static_cast<std::size_t>(i)] = set.labels[static_cast<std::size_t>(image)];
    if (!set.texts.empty()) samples.texts.push_back(set.texts[static_cast<std::size_t>(image)]);
  }
  return samples;
}

/// A network of any size takes what files of one size hold.
Requirements fitted_to_files(const Location& location, Requirements model) {
  const SetRow& set = *location.set;
  if (set.shape_in == nullptr) return model;
  if (const auto shape = set.shape_in(location.folder)) model.shape = *shape;
  return model;
}

Inventory inventory_for(const std::string& option, const Requirements& model, const Stopped& stopped) {
  const Location location = locate(option, model);
  const SetRow& row = *location.set;
  Inventory found;
  found.option = option;
  found.texts = row.texts;
  // A named set is found for networks of its own shape only; in a folder its files tell.
  const Requirements taken = row.own() ? fitted_to_files(location, model) : model;
  const bool scenes = row.drawn() && row.any_shape() && !row.texts;
  // A few tell as much as all, which take a while to draw.
  const DataSet set =
      scenes ? make_scenes(taken, kSamples, kSamples, 0) : load(option, found.notice, taken, stopped);
  found.title = set.name;
  const bool fits_any = row.any_shape() && row.shape_in == nullptr && !row.texts;
  if (!fits_any && !row.texts) found.shape = set.train.shape();
  found.any_classes = row.drawn() && row.any_shape();
  found.classes = set.classes;
  found.train = scenes ? scenes_to_train_on(taken.shape) : set.train.count;
  found.validation = set.validation.count;
  found.test = scenes ? found.train / kTrainedForEachTested : set.test.count;
  found.samples = samples_of(set.train);
  return found;
}

/// Any number of classes: whether a network tells so many apart is said of each.
Requirements without_classes(Requirements model) {
  model.classes = 0;
  return model;
}

}  // namespace

Inventory take_inventory(const std::string& option, const Requirements& wanted,
                         std::span<const Requirements> others, const Stopped& stopped) {
  std::exception_ptr first;
  try {
    return inventory_for(option, without_classes(wanted), stopped);
  } catch (const core::BadInput&) {
    first = std::current_exception();
  }
  for (const Requirements& other : others) {
    try {
      return inventory_for(option, without_classes(other), stopped);
    } catch (const core::BadInput&) {
      continue;  // the reason is that of the network that was chosen
    }
  }
  std::rethrow_exception(first);
}

std::string why_not(const Inventory& inventory, const Requirements& model) {
  // Without a name whatever suits the network is taken.
  if (inventory.option.empty() || inventory.option == "builtin") return "";
  try {
    check_kind(inventory.title, inventory.texts, model);
    if (!inventory.texts && inventory.shape != ImageShape{})
      check_shape(inventory.title, inventory.shape, model);
    if (!inventory.any_classes) check_classes(inventory.title, inventory.classes.size(), model);
  } catch (const core::BadInput& difference) {
    return difference.what();
  }
  return "";
}

std::string describe(const Inventory& inventory) {
  const char* const things = inventory.texts ? "texts" : "images";
  const std::string validation =
      inventory.validation > 0 ? fmt::format(", {} validation", files::grouped(inventory.validation)) : "";
  const std::string size = inventory.texts                   ? ""
                           : inventory.shape == ImageShape{} ? ", made as large as the network takes them"
                                                             : " of " + describe(inventory.shape);
  return fmt::format("{} training{} and {} test {}{}, {}", files::grouped(inventory.train), validation,
                     files::grouped(inventory.test), things, size,
                     files::counted(static_cast<std::int64_t>(inventory.classes.size()), "class", "classes"));
}

std::vector<std::string> sets_at_hand() {
  std::vector<std::string> names;
  for (const SetRow& row : sets()) {
    if (!row.published()) continue;
    Requirements model{.shape = row.shape};
    if (row.texts) model.alphabet = "a";
    try {
      locate(std::string(row.name), model);
      names.emplace_back(row.name);
    } catch (const std::exception&) {
      continue;  // it is not there
    }
  }
  return names;
}

bool holds_set(const std::filesystem::path& folder) {
  const auto holds = [](const SetRow& row, const std::filesystem::path& there) {
    try {
      return row.holds(there);
    } catch (const std::exception&) {
      return false;
    }
  };
  return std::ranges::any_of(sets(), [&](const SetRow& row) {
    if (row.drawn()) return false;
    const auto in = [&](std::string_view name) { return holds(row, folder / name); };
    return holds(row, folder) || std::ranges::any_of(row.folders, in);
  });
}

}  // namespace warpscope::data
