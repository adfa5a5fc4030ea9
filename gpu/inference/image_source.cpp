#include "gpu/inference/image_source.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/own_images.h"
#include "gpu/data/text_sets.h"
#include "gpu/files/text.h"
#include "gpu/inference/class_names.h"

namespace warpscope::inference {
namespace {

namespace fs = std::filesystem;

/// What labels of data are to a network.
struct Labels {
  std::vector<int> matches;          ///< of each class of the data, as match_classes() tells
  std::vector<std::string> classes;  ///< names of the network's classes
};

class TestImages : public ImageSource {
 public:
  TestImages(std::shared_ptr<const data::DataSet> data, Labels labels)
      : data_(std::move(data)), labels_(std::move(labels)) {}

  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    const data::ImageSet& set = data_->test;
    const std::int64_t count = std::min<std::int64_t>(most, set.count - next_);
    std::memcpy(pixels, set.pixels.data() + next_ * set.image_bytes(),
                static_cast<std::size_t>(count * set.image_bytes()));
    std::vector<ImageName> names(static_cast<std::size_t>(count));
    for (ImageName& name : names) {
      const auto at = static_cast<std::size_t>(next_);
      name.index = next_++;
      if (at < set.labels.size()) name.label = labels_.matches[set.labels[at]];
      if (at < set.texts.size()) name.text = set.texts[at];
    }
    return names;
  }
  std::int64_t count() const override { return data_->test.count; }
  std::string title() const override {
    return fmt::format("{}, test {}", data_->name, data_->test.texts.empty() ? "images" : "texts");
  }
  std::vector<std::string> classes() const override { return labels_.classes; }

 private:
  std::shared_ptr<const data::DataSet> data_;
  Labels labels_;
  std::int64_t next_ = 0;
};

class PictureFiles : public ImageSource {
 public:
  PictureFiles(std::vector<fs::path> files, const data::ImageShape& shape, std::string title)
      : files_(std::move(files)), shape_(shape), title_(std::move(title)) {}

  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    std::vector<ImageName> names;
    names.reserve(static_cast<std::size_t>(most));
    while (std::cmp_less(names.size(), most) && next_ < files_.size()) {
      read_some(static_cast<std::size_t>(most) - names.size(), pixels, names);
    }
    return names;
  }
  std::int64_t count() const override { return static_cast<std::int64_t>(files_.size()); }
  std::string title() const override { return title_; }
  std::vector<std::string> refused() const override { return refused_; }

 private:
  /// The next `most` files, of which those that can be read come behind `names` and their pixels.
  void read_some(std::size_t most, std::uint8_t* pixels, std::vector<ImageName>& names) {
    const std::size_t count = std::min(most, files_.size() - next_);
    std::vector<std::vector<std::uint8_t>> images(count);
    std::vector<std::string> refused(count);
    core::parallel_for(static_cast<std::int64_t>(count), 1, 0, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); std::cmp_less(i, end); ++i) {
        try {
          images[i] = data::read_picture(files_[next_ + i], shape_);
        } catch (const core::Error& error) {
          refused[i] = error.what();
        }
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (!refused[i].empty()) {
        refused_.push_back(std::move(refused[i]));
        continue;
      }
      std::memcpy(pixels + names.size() * images[i].size(), images[i].data(), images[i].size());
      const std::size_t at = next_ + i;
      names.push_back({static_cast<std::int64_t>(at), files_[at].filename().string(), -1});
    }
    next_ += count;
  }

  std::vector<fs::path> files_;
  data::ImageShape shape_;
  std::string title_;
  std::size_t next_ = 0;
  std::vector<std::string> refused_;
};

class TextFile : public ImageSource {
 public:
  TextFile(Texts texts, Labels labels, std::string title)
      : texts_(std::move(texts)), labels_(std::move(labels)), title_(std::move(title)) {}

  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    data::ImageSet& set = texts_.set;
    const std::int64_t count = std::min<std::int64_t>(most, set.count - next_);
    std::memcpy(pixels, set.pixels.data() + next_ * set.image_bytes(),
                static_cast<std::size_t>(count * set.image_bytes()));
    std::vector<ImageName> names(static_cast<std::size_t>(count));
    for (ImageName& name : names) {
      const auto at = static_cast<std::size_t>(next_);
      name.index = next_++;
      const int label = texts_.labels[at];
      if (label >= 0) name.label = labels_.matches[static_cast<std::size_t>(label)];
      name.text = std::move(set.texts[at]);
    }
    return names;
  }
  std::int64_t count() const override { return texts_.set.count; }
  std::string title() const override { return title_; }
  std::vector<std::string> classes() const override { return labels_.classes; }

 private:
  Texts texts_;
  Labels labels_;
  std::string title_;
  std::int64_t next_ = 0;
};

/// Calls take(label, text) for each row of a CSV file; the label is "" in rows of one field.
template <class Take>
void for_each_row(const std::string& content, const std::string& file, Take take) {
  data::CsvReader reader(content, file);
  for (bool first = true; std::optional<data::CsvRow> row = reader.next(); first = false) {
    const bool alone = row->fields.size() == 1;
    if (first && data::is_title(*row)) continue;
    take(alone ? "" : row->fields.front(), data::text_of(*row, alone ? 0 : 1));
  }
}

/// The same for each line of a text.
template <class Take>
void for_each_line(std::string_view content, Take take) {
  content = data::without_mark(content);
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take("", std::string(line));
    content.remove_prefix(std::min(end + 1, content.size()));
  }
}

void add_sentence(const std::string& sentence, std::string& notice) {
  if (!sentence.empty()) notice += (notice.empty() ? "" : "; ") + sentence;
}

std::unique_ptr<ImageSource> load_set(const std::string& data, const data::KnownData& known,
                                      const data::Requirements& wanted,
                                      const std::vector<std::string>& classes, std::string& notice) {
  data::Requirements named = wanted;
  named.classes_by_name = !classes.empty();
  data::FoundData loaded = data::find_data(data, known, named);
  notice = std::move(loaded.notice);
  if (!loaded.same) add_sentence(data::told_as_other(loaded.set), notice);
  auto set = std::make_shared<data::DataSet>(std::move(loaded.set));
  Labels labels{match_classes(set->classes, classes, Naming::of_a_set),
                classes.empty() ? set->classes : classes};
  if (wanted.classes > 0) {
    const int last = *std::max_element(labels.matches.begin(), labels.matches.end());
    if (last >= wanted.classes) data::check_classes(set->name, set->classes.size(), wanted);
    const std::vector<int> found(set->test.labels.begin(), set->test.labels.end());
    add_sentence(tell_unknown(found, set->classes, labels.matches), notice);
  }
  return std::make_unique<TestImages>(std::move(set), std::move(labels));
}

std::unique_ptr<ImageSource> open_texts(const std::string& file, const data::Requirements& wanted,
                                        const std::vector<std::string>& classes, std::string& notice) {
  Texts texts = read_texts(file, wanted);
  Labels labels{match_classes(texts.classes, classes, Naming::as_they_come), classes};
  if (wanted.classes > 0) add_sentence(tell_unknown(texts.labels, texts.classes, labels.matches), notice);
  return std::make_unique<TextFile>(std::move(texts), std::move(labels),
                                    fmt::format("the texts in {}", file));
}

}  // namespace

std::unique_ptr<ImageSource> test_images_of(std::shared_ptr<const data::DataSet> data) {
  Labels labels{match_classes(data->classes, {}, Naming::of_a_set), data->classes};
  return std::make_unique<TestImages>(std::move(data), std::move(labels));
}

Texts read_texts(const std::string& file, const data::Requirements& model) {
  const std::string content = files::read_text(file);
  if (data::is_picture(file) || data::begins_like_picture(content)) data::check_kind(file, false, model);
  const data::Alphabet alphabet(model.alphabet);
  Texts texts;
  texts.set = {model.shape.height, model.shape.width, model.shape.channels, 0, {}, {}, {}};
  std::map<std::string, int> places;
  const auto take = [&](const std::string& label, std::string text) {
    const auto [place, added] = places.emplace(label, static_cast<int>(texts.classes.size()));
    if (added && !label.empty()) texts.classes.push_back(label);
    texts.labels.push_back(label.empty() ? -1 : place->second);
    data::add_text(std::move(text), 0, alphabet, texts.set);
  };
  if (data::is_csv(file)) {
    for_each_row(content, file, take);
  } else {
    for_each_line(content, take);
  }
  texts.set.labels.clear();
  if (texts.set.count == 0) throw core::BadInput(fmt::format("{} holds no texts", file));
  return texts;
}

data::ImageSet encode_text(const models::Model& model, std::string text) {
  data::ImageSet set{model.height, model.width, model.channels, 0, {}, {}, {}};
  data::add_text(std::move(text), 0, data::Alphabet(model.alphabet), set);
  set.labels.clear();
  return set;
}

std::unique_ptr<ImageSource> open_images(const std::string& data, const data::Requirements& wanted,
                                         const std::vector<std::string>& classes, std::string& notice,
                                         const data::KnownData& known) {
  const fs::path path(data);
  const data::ImageShape& shape = wanted.shape;
  std::error_code failure;
  if (fs::is_regular_file(path, failure) && wanted.takes_texts()) {
    return open_texts(data, wanted, classes, notice);
  }
  if (fs::is_regular_file(path, failure)) {
    return std::make_unique<PictureFiles>(std::vector<fs::path>{path}, shape,
                                          fmt::format("the picture {}", data));
  }
  if (!fs::is_directory(path, failure) || wanted.takes_texts())
    return load_set(data, known, wanted, classes, notice);
  std::vector<std::string> refused;
  std::vector<fs::path> files = data::list_pictures({&path, 1}, refused);
  if (!files.empty()) {
    return std::make_unique<PictureFiles>(std::move(files), shape, fmt::format("pictures in {}", data));
  }
  try {
    return load_set(data, known, wanted, classes, notice);
  } catch (const core::BadInput& error) {
    if (fs::is_empty(path, failure)) throw core::BadInput(refused.front());
    throw core::BadInput(fmt::format("{}, and no data set: {}", refused.front(), error.what()));
  }
}

}  // namespace warpscope::inference
