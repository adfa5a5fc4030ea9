#include "gpu/runs/run_predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/read_json.h"
#include "gpu/files/sha256.h"
#include "gpu/runs/image_grid.h"
#include "gpu/settings/numbers.h"

namespace warpscope::training {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPredictionsFolder = "images";
constexpr const char* kPredictionsFile = "predictions.json";
constexpr int kPredictionColumns = 16;
constexpr std::uint64_t kMostClasses = 256, kMostPredictedSide = 4096, kMostPredictedChannels = 4;
constexpr std::size_t kMostBytes = std::size_t{1} << 26;  // of pixels
constexpr std::uintmax_t kMostIndexBytes = std::uintmax_t{1} << 20;
constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
constexpr double kMostLoss = 3.4028236e38;  // written with fewer digits, the largest float is a little more
constexpr auto kAnyCount = std::numeric_limits<std::uint64_t>::max();

ImageShape shape_of(const data::ImageSet& images) {
  return {static_cast<int>(images.count), images.height, images.width, images.channels};
}

int columns_of(const data::ImageSet& images) {
  return static_cast<int>(std::min<std::int64_t>(images.count, kPredictionColumns));
}

/// More than a PNG of these images ever has.
std::uintmax_t most_png_bytes(const ImageShape& shape) {
  return shape.elements() + shape.elements() / 8 + (1 << 16);
}

std::string checksum(const std::string& bytes) {
  files::Sha256 sum;
  sum.update(bytes.data(), bytes.size());
  return sum.finish();
}

json number(float value) {
  return std::isfinite(value) ? json(shortest(value)) : json();
}

// --- writing

/// The places of the `count` largest losses, rising.
std::vector<std::uint32_t> worst_places(const Evaluation& evaluation, std::size_t known, std::size_t count) {
  std::vector<std::uint32_t> places(known);
  std::iota(places.begin(), places.end(), std::uint32_t{0});
  const auto badness = [&](std::uint32_t place) {
    const float loss = evaluation.image_losses[place];
    return std::isnan(loss) ? std::numeric_limits<float>::infinity() : loss;
  };
  const auto worse = [&](std::uint32_t a, std::uint32_t b) {
    const float first = badness(a), second = badness(b);
    return first != second ? first > second : a < b;
  };
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(count, known));
  std::partial_sort(places.begin(), end, places.end(), worse);
  places.erase(end, places.end());
  std::sort(places.begin(), places.end());
  return places;
}

json index_of(const Predictions& predictions, const std::string& png) {
  const Evaluation& evaluation = predictions.evaluation;
  const data::ImageSet& images = predictions.images;
  json list = json::array();
  for (std::size_t i = 0; i < evaluation.positions.size(); ++i) {
    list.push_back({{"position", evaluation.positions[i]},
                    {"truth", images.labels[i]},
                    {"predicted", evaluation.predicted[i]},
                    {"loss", number(evaluation.image_losses[i])}});
  }
  return {{"step", evaluation.step},
          {"generation", predictions.generation},
          {"file", predictions_name(evaluation.step)},
          {"sha256", checksum(png)},
          {"count", images.count},
          {"height", images.height},
          {"width", images.width},
          {"channels", images.channels},
          {"columns", columns_of(images)},
          {"split", std::string(to_string(evaluation.split))},
          {"epoch", evaluation.epoch},
          {"loss", std::isfinite(evaluation.loss) ? json(evaluation.loss) : json()},
          {"accuracy", evaluation.accuracy},
          {"classes", evaluation.classes},
          {"confusion", evaluation.confusion},
          {"images", std::move(list)}};
}

// --- reading

/// The fields of one object; what is wrong is refused with a sentence that names the file.
class Fields {
 public:
  Fields(const json& object, const std::string& file) : object_(object), file_(file) {}

  [[noreturn]] void refuse(const char* name, const char* what) const {
    throw core::BadInput(fmt::format("'{}' of {} is {}", name, file_, what));
  }
  std::uint64_t count(const char* name, std::uint64_t most) const {
    return count_field(object_, name, file_, most);
  }
  int size(const char* name, std::uint64_t most) const {
    const std::uint64_t value = count(name, most);
    if (value == 0) refuse(name, "0");
    return static_cast<int>(value);
  }
  std::uint8_t class_number(const char* name, int classes) const {
    return static_cast<std::uint8_t>(count(name, static_cast<std::uint64_t>(classes) - 1));
  }
  double number(const char* name, double least, double most) const {
    return number_field(object_, name, file_, least, most);
  }
  double number_or_nan(const char* name) const {
    return optional_number_field(object_, name, file_).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  std::string text(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_string()) refuse(name, "missing or no text");
    return found->get<std::string>();
  }
  const json& list(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_array()) refuse(name, "missing or no list");
    return *found;
  }

 private:
  const json& object_;
  const std::string& file_;
};

json parse_index(const fs::path& path) {
  json object = files::read_json(read_image_file(path, kMostIndexBytes));
  if (object.is_discarded()) {
    throw core::BadInput(fmt::format("{} is damaged: it is not JSON", path.string()));
  }
  require_object(object, path.string());
  return object;
}

void read_confusion(const Fields& fields, Evaluation& evaluation) {
  const json& list = fields.list("confusion");
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  if (list.size() != classes * classes) fields.refuse("confusion", "no table of all classes by all classes");
  for (const json& count : list) {
    if (!count.is_number_unsigned() ||
        count.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      fields.refuse("confusion", "no table of counts");
    }
    evaluation.confusion.push_back(count.get<std::uint32_t>());
  }
}

Evaluation read_evaluation(const Fields& fields) {
  Evaluation evaluation;
  const std::string split = fields.text("split");
  evaluation.split = split == to_string(Split::validation) ? Split::validation : Split::test;
  if (split != to_string(evaluation.split)) fields.refuse("split", "neither validation nor test");
  evaluation.step = fields.count("step", kAnyCount);
  evaluation.epoch = fields.number("epoch", 0, std::numeric_limits<double>::max());
  evaluation.loss = fields.number_or_nan("loss");
  evaluation.accuracy = fields.number("accuracy", 0, 1);
  evaluation.classes = fields.size("classes", kMostClasses);
  read_confusion(fields, evaluation);
  return evaluation;
}

/// The place of the last image that was looked at.
std::uint64_t last_place(const Evaluation& evaluation) {
  const auto& counts = evaluation.confusion;
  const std::uint64_t images = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  return std::clamp<std::uint64_t>(images, 1, std::numeric_limits<std::uint32_t>::max()) - 1;
}

/// What is said of one image. `most` is the last place in the set.
void read_image(const Fields& fields, std::uint64_t most, Predictions& predictions) {
  Evaluation& evaluation = predictions.evaluation;
  const std::uint64_t place = fields.count("position", most);
  if (!evaluation.positions.empty() && place <= evaluation.positions.back()) {
    fields.refuse("position", "not after that of the image before");
  }
  const double loss = fields.number_or_nan("loss");
  if (std::abs(loss) > kMostLoss) fields.refuse("loss", "too large");
  evaluation.positions.push_back(static_cast<std::uint32_t>(place));
  predictions.images.labels.push_back(fields.class_number("truth", evaluation.classes));
  evaluation.predicted.push_back(fields.class_number("predicted", evaluation.classes));
  evaluation.image_losses.push_back(static_cast<float>(std::clamp(loss, -kLargest, kLargest)));
}

/// Each image is one of those that the table counts.
void check_counts(const Fields& fields, const Predictions& predictions) {
  const Evaluation& evaluation = predictions.evaluation;
  std::vector<std::uint32_t> left = evaluation.confusion;
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  for (std::size_t i = 0; i < evaluation.predicted.size(); ++i) {
    std::uint32_t& count = left[predictions.images.labels[i] * classes + evaluation.predicted[i]];
    if (count-- == 0) fields.refuse("confusion", "not the table of these images");
  }
}

void read_images(const Fields& fields, const std::string& file, Predictions& predictions) {
  data::ImageSet& images = predictions.images;
  images.height = fields.size("height", kMostPredictedSide);
  images.width = fields.size("width", kMostPredictedSide);
  images.channels = fields.size("channels", kMostPredictedChannels);
  const json& list = fields.list("images");
  if (list.empty() || list.size() != fields.count("count", kMostPredictions)) {
    fields.refuse("images", "not as long as 'count' says");
  }
  const std::uint64_t last = last_place(predictions.evaluation);
  for (const json& image : list) {
    require_object(image, "an image of " + file);
    read_image(Fields(image, file), last, predictions);
  }
  check_counts(fields, predictions);
  images.count = static_cast<std::int64_t>(list.size());
  if (static_cast<std::size_t>(images.count * images.image_bytes()) > kMostBytes) {
    throw core::BadInput(fmt::format("{} tells of more pixels than can be shown", file));
  }
}

}  // namespace

Predictions worst_predictions(const Evaluation& evaluation, const data::ImageSet& set,
                              std::uint64_t generation) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(set.image_bytes(), 1));
  const std::size_t known = std::min({evaluation.image_losses.size(), evaluation.predicted.size(),
                                      set.labels.size(), set.pixels.size() / bytes});
  Predictions worst;
  worst.generation = generation;
  worst.evaluation = evaluation;
  worst.evaluation.positions =
      worst_places(evaluation, known, std::min(kMostPredictions, kMostBytes / bytes));
  worst.evaluation.image_losses.clear();
  worst.evaluation.predicted.clear();
  worst.images = {set.height, set.width, set.channels, 0, {}, {}};
  worst.images.count = static_cast<std::int64_t>(worst.evaluation.positions.size());
  for (const std::size_t place : worst.evaluation.positions) {
    worst.evaluation.image_losses.push_back(evaluation.image_losses[place]);
    worst.evaluation.predicted.push_back(evaluation.predicted[place]);
    worst.images.labels.push_back(set.labels[place]);
    const std::uint8_t* const from = set.pixels.data() + place * bytes;
    worst.images.pixels.insert(worst.images.pixels.end(), from, from + bytes);
  }
  return worst;
}

std::string predictions_name(std::uint64_t step) {
  return fmt::format("predictions-{:09}.png", step);
}

RunPredictions::RunPredictions(const fs::path& folder) : folder_(folder / kPredictionsFolder) {}

void RunPredictions::write(const Predictions& predictions) {
  if (!opened_) open_image_folder(folder_);
  opened_ = true;
  const std::string name = predictions_name(predictions.evaluation.step);
  const data::ImageSet& images = predictions.images;
  const std::string png = encode_grid(images.pixels, shape_of(images), columns_of(images));
  files::write_file_atomically(folder_ / name, png);
  files::write_file_atomically(folder_ / kPredictionsFile, index_of(predictions, png).dump() + "\n");
  remove_others(name);
}

void RunPredictions::remove_others(const std::string& kept) const {
  std::error_code error;
  std::vector<fs::path> gone;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool ours = name.starts_with("predictions-") && name.ends_with(".png");
    if (ours && name != kept) gone.push_back(entry->path());
  }
  for (const fs::path& path : gone) fs::remove(path, error);
}

Predictions read_predictions(const fs::path& folder) {
  const fs::path path = folder / kPredictionsFolder / kPredictionsFile;
  const std::string file = path.string();
  const json object = parse_index(path);
  const Fields fields(object, file);
  Predictions predictions;
  predictions.generation = fields.count("generation", kAnyCount);
  predictions.evaluation = read_evaluation(fields);
  read_images(fields, file, predictions);
  const ImageShape shape = shape_of(predictions.images);
  const int columns = fields.size("columns", static_cast<std::uint64_t>(shape.count));
  const std::string name = predictions_name(predictions.evaluation.step);
  if (fields.text("file") != name) fields.refuse("file", "not the picture of its step");
  const std::string sum = fields.text("sha256");
  const fs::path picture = folder / kPredictionsFolder / name;
  const std::string png = read_image_file(picture, most_png_bytes(shape));
  if (checksum(png) != sum) {
    throw core::BadInput(
        fmt::format("{} is damaged: its checksum is not that in {}", picture.string(), file));
  }
  predictions.images.pixels = decode_grid(png, shape, columns, picture.string());
  return predictions;
}

}  // namespace warpscope::training
