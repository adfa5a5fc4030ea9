#include "gpu/data/cifar100.h"

#include <array>

#include "gpu/data/cifar_records.h"

namespace warpscope::data {
namespace {

constexpr std::array kFiles{CifarFile{"train.bin", 50'000}, CifarFile{"test.bin", 10'000}};
constexpr CifarForm kForm{
    .title = "CIFAR-100", .files = kFiles, .label_bytes = 2, .classes = 100, .names = "fine_label_names.txt"};

}  // namespace

std::vector<std::string> cifar100_classes() {
  return {"apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
          "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
          "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
          "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
          "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
          "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
          "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
          "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
          "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
          "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
          "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
          "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
          "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
          "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
          "table",       "tank",          "telephone", "television", "tiger",        "tractor",
          "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
          "willow_tree", "wolf",          "woman",     "worm"};
}

bool holds_cifar100(const std::filesystem::path& folder) {
  return holds_cifar(kForm, folder);
}

bool cifar100_is_complete(const std::filesystem::path& folder) noexcept {
  return cifar_is_complete(kForm, folder);
}

DataSet load_cifar100(const SetRow& row, const std::filesystem::path& folder, const Requirements&,
                      const Stopped&) {
  return load_cifar(kForm, row, folder);
}

}  // namespace warpscope::data
