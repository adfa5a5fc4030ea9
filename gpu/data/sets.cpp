#include "gpu/data/sets.h"

#include <algorithm>

#include "gpu/data/set_kinds.h"
#include "gpu/data/text_sets.h"

namespace warpscope::data {
namespace {

constexpr ImageShape kCifarShape{32, 32, 3};
constexpr ImageShape kDigitShape{28, 28, 1};
constexpr std::string_view kCifar10Files = "data_batch_1.bin to data_batch_5.bin and test_batch.bin";
constexpr std::string_view kCsvFiles =
    "train.csv and test.csv, or one CSV file, with a class and a text in each row";
constexpr std::string_view kIdxFiles =
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, "
    "as they are or with .gz";

const std::vector<std::string>& digits() {
  static const std::vector<std::string> names{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  return names;
}

std::vector<SetRow> make_sets() {
  return {
      {.name = "cifar10",
       .title = "CIFAR-10",
       .shape = kCifarShape,
       .classes = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
       .folders = {"cifar-10-batches-bin"},
       .files = kCifar10Files,
       .holds = holds_cifar10,
       .is_complete = cifar10_is_complete,
       .load = load_cifar10},
      {.name = "cifar100",
       .title = "CIFAR-100",
       .shape = kCifarShape,
       .classes = cifar100_classes(),
       .folders = {"cifar-100-binary"},
       .files = "train.bin and test.bin",
       .holds = holds_cifar100,
       .is_complete = cifar100_is_complete,
       .load = load_cifar100},
      {.name = "mnist",
       .title = "MNIST",
       .shape = kDigitShape,
       .classes = digits(),
       .folders = {"mnist", "MNIST/raw"},
       .files = kIdxFiles,
       .holds = holds_idx_set,
       .is_complete = idx_set_is_complete,
       .shape_in = own_idx_shape,
       .load = load_idx_set},
      {.name = "fashion_mnist",
       .title = "Fashion-MNIST",
       .shape = kDigitShape,
       .classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                   "Ankle boot"},
       .folders = {"fashion-mnist", "fashion_mnist", "FashionMNIST/raw"},
       .files = kIdxFiles,
       .holds = holds_idx_set,
       .is_complete = idx_set_is_complete,
       .shape_in = own_idx_shape,
       .load = load_idx_set},
      {.name = "images",
       .title = "pictures in class folders",
       .files = "a folder of pictures for each class, in it or in its folders train and test",
       .holds = holds_class_folders,
       .load = load_image_folders},
      {.name = "idx",
       .title = "IDX files",
       .files = "IDX files of images and of labels, to train on and to test with",
       .holds = holds_own_idx,
       .shape_in = own_idx_shape,
       .load = load_own_idx},
      // Before AG News, whose files look the same: a folder without its name holds a set of one's own.
      {.name = "csv",
       .title = "texts",
       .texts = true,
       .files = kCsvFiles,
       .holds = holds_texts,
       .load = load_csv},
      {.name = "ag_news",
       .title = "AG News",
       .classes = {"World", "Sports", "Business", "Sci/Tech"},
       .folders = {"ag_news", "ag_news_csv"},
       .texts = true,
       .files = "train.csv (or train_part.csv) and test.csv",
       .holds = holds_texts,
       .is_complete = ag_news_is_complete,
       .load = load_ag_news,
       .brought_by = "its files, as X. Zhang published them, go into a folder ag_news there"},
      {.name = "sentences",
       .title = "built-in sentences",
       .texts = true,
       .load = [](const SetRow&, const std::filesystem::path&, const Requirements& model,
                  const Stopped&) { return make_sentences(model); }},
      {.name = "digits",
       .title = "built-in digits",
       .shape = kDigitShape,
       .classes = digits(),
       .load = [](const SetRow&, const std::filesystem::path&, const Requirements&,
                  const Stopped&) { return make_builtin_digits(); }},
      {.name = "scenes",
       .title = "built-in scenes",
       .load = [](const SetRow&, const std::filesystem::path&, const Requirements& model,
                  const Stopped&) { return make_scenes(model); }},
  };
}

}  // namespace

std::span<const SetRow> sets() {
  static const std::vector<SetRow> rows = make_sets();
  return rows;
}

const SetRow* find_set(std::string_view name) noexcept {
  const std::span<const SetRow> rows = sets();
  const auto found = std::ranges::find_if(rows, [&](const SetRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace warpscope::data
