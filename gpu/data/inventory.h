#pragma once
// What data hold, told to somebody who is about to train on them.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/sets.h"

namespace warpscope::data {

/// How many images or texts an inventory shows.
inline constexpr std::int64_t kSamples = 10;

struct Inventory {
  std::string option = {};  ///< as load() takes it
  std::string title = {};   ///< "CIFAR-10", a folder's name
  bool texts = false;
  ImageShape shape = {};     ///< that a network must take; {}: images are made to fit any
  bool any_classes = false;  ///< as many are drawn as the network tells apart
  std::vector<std::string> classes = {};
  std::int64_t train = 0;
  std::int64_t validation = 0;
  std::int64_t test = 0;
  std::string notice = {};  ///< how the parts were made and what was left out, in sentences; "" for nothing
  ImageSet samples = {};    ///< images to train on, spread over all; of texts what they say
};

/// Reads all of it. `wanted` is what the network takes; where that does not suit, what it takes is told by the first of
/// `others` that does. Not for a thread that anybody waits for. Throws as load() does for `wanted` where none suits;
/// core::Error if it is stopped.
Inventory take_inventory(const std::string& option, const Requirements& wanted,
                         std::span<const Requirements> others, const Stopped& stopped = {});

/// Why the network cannot be trained on these data, as load() would say; "" if it can.
std::string why_not(const Inventory& inventory, const Requirements& model);

/// "9,000 training and 1,000 test images of 32x32x3, 10 classes", with those for validation.
std::string describe(const Inventory& inventory);

/// The names of the published sets that are in $WARPSCOPE_DATA or the cache folder. Never throws.
std::vector<std::string> sets_at_hand();

/// True if a data set is in `folder`, published or of one's own. What cannot be read holds none.
bool holds_set(const std::filesystem::path& folder);

}  // namespace warpscope::data
