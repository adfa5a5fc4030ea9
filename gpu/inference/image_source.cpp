#include "gpu/inference/image_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/data/near_misses.h"
#include "gpu/data/notices.h"
#include "gpu/data/own_images.h"
#include "gpu/data/text_file.h"
#include "gpu/data/text_sets.h"
#include "gpu/data/text_table.h"
#include "gpu/files/checksum.h"
#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/text.h"

namespace warpscope::inference {
namespace {

using Names = std::vector<std::string>;

bool are_numbers(const Names& names) {
  return std::ranges::all_of(names, [](const std::string& name) {
    return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  });
}

/// "0", "1", "2", ...
bool are_places(const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

/// As run.json keeps them; an older one has U+FFFD for what is no UTF-8.
Names as_kept(const Names& names, const Names& network) {
  const bool replaced = std::ranges::any_of(
      network, [](const std::string& name) { return name.find("\xEF\xBF\xBD") != std::string::npos; });
  Names kept;
  for (const std::string& name : names)
    kept.push_back(replaced ? files::valid_utf8(name) : files::legible_utf8(name));
  return kept;
}

bool places_tell(const Names& data, const Names& network) {
  if (network.empty() || data == network) return true;
  if (are_numbers(data) == are_numbers(network)) return false;
  return are_places(data) || data.size() == network.size();
}

namespace fs = std::filesystem;

/// What labels of data are to a network.
struct Labels {
  std::vector<int> matches;          ///< of each class of the data, as match_classes() tells
  std::vector<std::string> classes;  ///< names of the network's classes
};

/// What makes images the same ones.
void add_texts(files::Checksum& sum, const Names& texts) {
  for (const std::string& text : texts) sum.add(text.c_str(), text.size() + 1);
}

/// Images in memory, as many as `set` has.
class ImagesInMemory : public DividedSource {
 public:
  explicit ImagesInMemory(const data::ImageSet& set) : set_(set), end_(set.count) {}

  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    const std::int64_t count = std::min<std::int64_t>(most, end_ - next_);
    std::memcpy(pixels, set_.pixels.data() + next_ * set_.image_bytes(),
                static_cast<std::size_t>(count * set_.image_bytes()));
    std::vector<ImageName> names;
    names.reserve(static_cast<std::size_t>(count));
    for (const std::int64_t end = next_ + count; next_ < end; ++next_) names.push_back(name(next_));
    return names;
  }
  std::int64_t count() const override { return set_.count; }
  void take_part(std::int64_t begin, std::int64_t end) override {
    next_ = begin;
    end_ = end;
  }

 private:
  const data::ImageSet& set_;  ///< lives as long as this
  std::int64_t next_ = 0;
  std::int64_t end_;
};

class TestImages : public ImagesInMemory {
 public:
  TestImages(std::shared_ptr<const data::DataSet> data, Labels labels)
      : ImagesInMemory(data->test), data_(std::move(data)), labels_(std::move(labels)) {}

  std::string title() const override {
    return fmt::format("{}, test {}", data_->name, data_->test.texts.empty() ? "images" : "texts");
  }
  Names classes() const override { return labels_.classes; }
  ImageName name(std::int64_t index) const override {
    const data::ImageSet& set = data_->test;
    const auto at = static_cast<std::size_t>(index);
    ImageName name{index, {}};
    if (at < set.labels.size()) name.label = labels_.matches[set.labels[at]];
    if (at < set.texts.size()) name.text = set.texts[at];
    return name;
  }
  std::string option() const override { return data_->source; }
  std::string fingerprint() const override {
    files::Checksum sum;
    sum.add(data_->test.pixels.data(), data_->test.pixels.size());
    sum.add(data_->test.labels.data(), data_->test.labels.size());
    add_texts(sum, data_->classes);
    return sum.text();
  }

 private:
  std::shared_ptr<const data::DataSet> data_;
  Labels labels_;
};

class PictureFiles : public DividedSource {
 public:
  PictureFiles(std::vector<fs::path> files, const data::ImageShape& shape, std::string data)
      : files_(std::move(files)), shape_(shape), data_(std::move(data)), end_(files_.size()) {}

  /// Files that cannot be read move no other image to another batch, so that batches are the same in every part.
  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    std::vector<ImageName> names;
    while (names.empty() && next_ < end_) read_some(static_cast<std::size_t>(most), pixels, names);
    return names;
  }
  std::int64_t count() const override { return static_cast<std::int64_t>(files_.size()); }
  std::string title() const override {
    const bool one = files_.size() == 1 && files_.front() == data_;
    return fmt::format("{} {}", one ? "the picture" : "pictures in", data_);
  }
  std::vector<std::string> refused() const override { return refused_; }
  std::size_t turned() const override { return turned_; }
  void take_part(std::int64_t begin, std::int64_t end) override {
    next_ = static_cast<std::size_t>(begin);
    end_ = static_cast<std::size_t>(end);
    turned_ = 0;
    refused_.clear();
  }
  ImageName name(std::int64_t index) const override {
    return {index, files_[static_cast<std::size_t>(index)].filename().string()};
  }
  std::string option() const override { return data_; }
  std::string fingerprint() const override {
    files::Checksum sum;
    for (const fs::path& file : files_) {
      std::error_code failure;
      const std::string name = file.filename().string();
      const std::uintmax_t bytes = fs::file_size(file, failure);
      sum.add(name.c_str(), name.size() + 1);
      sum.add(&bytes, sizeof bytes);
    }
    return sum.text();
  }

 private:
  /// The next `most` files, of which those that can be read come into `names`.
  void read_some(std::size_t most, std::uint8_t* pixels, std::vector<ImageName>& names) {
    const std::size_t count = std::min(most, end_ - next_);
    std::vector<data::FittedPicture> images(count);
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
      const std::vector<std::uint8_t>& image = images[i].pixels;
      std::memcpy(pixels + names.size() * image.size(), image.data(), image.size());
      if (images[i].turned) ++turned_;
      names.push_back(name(static_cast<std::int64_t>(next_ + i)));
    }
    next_ += count;
  }

  std::vector<fs::path> files_;
  data::ImageShape shape_;
  std::string data_;  ///< their folder, or the only one
  std::size_t next_ = 0;
  std::size_t end_;
  std::size_t turned_ = 0;
  std::vector<std::string> refused_;
};

class TextFile : public ImagesInMemory {
 public:
  TextFile(std::unique_ptr<const Texts> texts, Labels labels, std::string file)
      : ImagesInMemory(texts->set),
        texts_(std::move(texts)),
        labels_(std::move(labels)),
        file_(std::move(file)) {}

  std::string title() const override { return fmt::format("the texts in {}", file_); }
  Names classes() const override { return labels_.classes; }
  ImageName name(std::int64_t index) const override {
    const auto at = static_cast<std::size_t>(index);
    ImageName name{index, {}, -1, texts_->set.texts[at], texts_->lines[at]};
    const int label = texts_->labels[at];
    if (label >= 0) name.label = labels_.matches[static_cast<std::size_t>(label)];
    return name;
  }
  std::string option() const override { return file_; }
  std::string fingerprint() const override {
    files::Checksum sum;
    add_texts(sum, texts_->set.texts);
    sum.add(texts_->labels.data(), texts_->labels.size() * sizeof(int));
    add_texts(sum, texts_->classes);
    return sum.text();
  }

 private:
  std::unique_ptr<const Texts> texts_;
  Labels labels_;
  std::string file_;
};

/// The lines of a text as rows without a class.
data::TextTable read_lines(const std::string& file) {
  data::TextTable table{file, {}};
  const std::string content = data::read_text_file(file, table.notice);
  for (std::size_t begin = 0, line = 1; begin < content.size(); ++line) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::string_view text = std::string_view(content).substr(begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    table.rows.push_back({{}, std::string(text), line});
    begin = end + 1;
  }
  if (table.rows.empty()) throw core::BadInput(fmt::format("{} holds no texts", file));
  return table;
}

std::unique_ptr<DividedSource> load_set(const std::string& data, const data::KnownData& known,
                                        const data::Requirements& wanted,
                                        const std::vector<std::string>& classes, std::string& notice) {
  data::Requirements named = wanted;
  named.classes_by_name = !classes.empty();
  data::FoundData loaded = data::find_data(data, known, named);
  notice = std::move(loaded.notice);
  if (!loaded.same) data::add_notice(data::told_as_other(loaded.set), notice);
  auto set = std::make_shared<data::DataSet>(std::move(loaded.set));
  Labels labels{match_classes(set->classes, classes, Naming::of_a_set),
                classes.empty() ? set->classes : classes};
  if (wanted.classes > 0) {
    const int last = *std::ranges::max_element(labels.matches);
    if (last >= wanted.classes) data::check_classes(set->name, set->classes.size(), wanted);
    const std::vector<int> found(set->test.labels.begin(), set->test.labels.end());
    data::add_notice(tell_unknown(found, set->classes, labels.matches), notice);
  }
  return std::make_unique<TestImages>(std::move(set), std::move(labels));
}

std::unique_ptr<DividedSource> open_texts(const std::string& file, const data::Requirements& wanted,
                                          const std::vector<std::string>& classes, std::string& notice) {
  auto texts = std::make_unique<const Texts>(read_texts(file, wanted, {classes.begin(), classes.end()}));
  data::add_notice(texts->notice, notice);
  Labels labels{match_classes(texts->classes, classes, Naming::as_they_come), classes};
  if (wanted.classes > 0)
    data::add_notice(tell_unknown(texts->labels, texts->classes, labels.matches), notice);
  return std::make_unique<TextFile>(std::move(texts), std::move(labels), file);
}

}  // namespace

std::vector<int> match_classes(const Names& data, const Names& network, Naming naming) {
  std::vector<int> matches(data.size(), -1);
  const Names wanted = as_kept(data, network), known = as_kept(network, network);
  if (naming == Naming::of_a_set && places_tell(wanted, known)) {
    std::iota(matches.begin(), matches.end(), 0);
    return matches;
  }
  std::map<std::string, int> places;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto [place, added] = places.emplace(known[i], static_cast<int>(i));
    if (!added) place->second = -1;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (const auto place = places.find(wanted[i]); place != places.end()) matches[i] = place->second;
  }
  return matches;
}

std::string tell_unknown(std::span<const int> labels, const Names& data, const std::vector<int>& matches) {
  constexpr std::size_t kMostNames = 5;
  constexpr std::size_t kMostCharacters = 40;
  std::int64_t all = 0, unknown = 0;
  std::set<int> classes;
  for (const int label : labels) {
    if (label < 0) continue;
    ++all;
    if (matches[static_cast<std::size_t>(label)] >= 0) continue;
    ++unknown;
    classes.insert(label);
  }
  if (unknown == 0) return "";
  Names names;
  for (const int label : classes) {
    if (names.size() == kMostNames) break;
    names.push_back(runs::shortened(files::escaped(data[static_cast<std::size_t>(label)]), kMostCharacters));
  }
  if (classes.size() > names.size()) names.push_back(fmt::format("{} more", classes.size() - names.size()));
  const bool one = unknown == 1;
  return fmt::format(
      "{} of {} label{} {} that the network does not know by {} ({}), so that the accuracy leaves {} out",
      files::grouped(unknown), files::grouped(all), all == 1 ? "" : "s",
      one ? "is of a class" : "are of classes", one ? "its name" : "their names", fmt::join(names, ", "),
      one ? "it" : "them");
}

std::unique_ptr<DividedSource> test_images_of(std::shared_ptr<const data::DataSet> data) {
  Labels labels{match_classes(data->classes, {}, Naming::of_a_set), data->classes};
  return std::make_unique<TestImages>(std::move(data), std::move(labels));
}

Texts read_texts(const std::string& file, const data::Requirements& model,
                 const std::set<std::string>& known) {
  if (data::is_picture(file)) data::check_kind(file, false, model);
  if (const std::string told = data::told_as_table(file); !told.empty()) throw core::BadInput(told);
  data::TextTable table = data::is_csv(file) ? data::read_text_table(file, {}) : read_lines(file);
  std::array<data::TextTable*, 1> alone{&table};
  data::drop_strange_titles(alone, known);
  const data::Alphabet alphabet(model.alphabet);
  Texts texts;
  texts.notice = std::move(table.notice);
  texts.set = {model.shape.height, model.shape.width, model.shape.channels, 0, {}, {}, {}};
  std::map<std::string, int> places;
  for (data::TextRow& row : table.rows) {
    const auto next = static_cast<int>(texts.classes.size());
    const int place = row.label.empty() ? -1 : places.emplace(row.label, next).first->second;
    if (place == next) texts.classes.push_back(row.label);
    texts.labels.push_back(place);
    texts.lines.push_back(row.line);
    data::add_text(std::move(row.text), 0, alphabet, texts.set);
  }
  texts.set.labels.clear();
  return texts;
}

std::unique_ptr<DividedSource> open_images(const std::string& data, const data::Requirements& wanted,
                                           const std::vector<std::string>& classes, std::string& notice,
                                           const data::KnownData& known) {
  const fs::path path(data);
  const data::ImageShape& shape = wanted.shape;
  std::error_code failure;
  if (fs::is_regular_file(path, failure) && wanted.takes_texts()) {
    return open_texts(data, wanted, classes, notice);
  }
  if (fs::is_regular_file(path, failure)) {
    return std::make_unique<PictureFiles>(std::vector<fs::path>{path}, shape, data);
  }
  if (!fs::is_directory(path, failure) || wanted.takes_texts())
    return load_set(data, known, wanted, classes, notice);
  data::PictureList list = data::list_pictures({&path, 1});
  if (!list.files.empty()) {
    data::add_notice(data::tell_left_out(list), notice);
    return std::make_unique<PictureFiles>(std::move(list.files), shape, data);
  }
  try {
    return load_set(data, known, wanted, classes, notice);
  } catch (const core::BadInput& error) {
    if (fs::is_empty(path, failure)) throw core::BadInput(list.refused.front());
    if (list.refused.front() == error.what()) throw;
    throw core::BadInput(fmt::format("{}, and no data set: {}", list.refused.front(), error.what()));
  }
}

}  // namespace warpscope::inference
