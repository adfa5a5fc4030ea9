#include "gpu/data/text_sets.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/split.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainFile = "train.csv";
constexpr const char* kPartFile = "train_part.csv";
constexpr const char* kTestFile = "test.csv";
constexpr std::int64_t kTrainBytes = 29'470'338;  // of AG News
constexpr std::int64_t kTestBytes = 1'857'427;
constexpr std::size_t kRowsBetweenStops = 4096;

std::string small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

/// The files in `folder` itself that end in .csv, by name.
std::vector<fs::path> csv_files(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path& path = entry->path();
    std::error_code broken;  // a link that leads nowhere is no file
    if (is_csv(path) && fs::is_regular_file(path, broken)) found.push_back(path);
  }
  if (failure)
    throw core::BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), failure.message()));
  std::sort(found.begin(), found.end());
  return found;
}

bool has_file(const std::vector<fs::path>& files, std::string_view name) {
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& path) { return path.filename() == name; });
}

/// A file to train on and one to test with; the second is empty where there is none.
std::pair<fs::path, fs::path> find_files(const fs::path& folder) {
  const std::vector<fs::path> files = csv_files(folder);
  const fs::path test = has_file(files, kTestFile) ? folder / kTestFile : fs::path();
  for (const char* const name : {kTrainFile, kPartFile}) {
    if (has_file(files, name)) return {folder / name, test};
  }
  if (files.size() == 1 && test.empty()) return {files.front(), {}};
  throw core::BadInput(fmt::format("{} lacks {}", folder.string(), kTrainFile));
}

/// One row of a file as text and class.
struct Labelled {
  std::string label, text;
  std::size_t line = 0;
};

/// Two characters, a backslash and an n, stand for a line break.
std::string with_line_breaks(std::string_view text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool breaks = text.substr(i, 2) == "\\n";
    lines.push_back(breaks ? '\n' : text[i]);
    if (breaks) ++i;
  }
  return lines;
}

/// Rows of `least` to `most` fields.
std::vector<Labelled> read_rows(const fs::path& path, std::size_t least, std::size_t most, bool titled,
                                const Stopped& stopped) {
  const std::string content = files::read_text(path);
  const std::string where = path.string();
  CsvReader reader(content, where);
  std::vector<Labelled> rows;
  bool first = true;
  while (std::optional<CsvRow> row = reader.next()) {
    if (rows.size() % kRowsBetweenStops == 0 && stopped && stopped()) {
      throw core::Error("reading the texts was stopped");
    }
    if (std::exchange(first, false) && titled && is_title(*row)) continue;
    if (row->fields.size() < least || row->fields.size() > most) {
      throw core::BadInput(fmt::format("{}:{}: {} field{} in a row, {} {} needed", where, row->line,
                                       row->fields.size(), row->fields.size() == 1 ? "" : "s", least,
                                       least == most ? "are" : "or more are"));
    }
    rows.push_back({row->fields.front(), text_of(*row, 1), row->line});
  }
  if (rows.empty()) throw core::BadInput(fmt::format("{} holds no texts", where));
  return rows;
}

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The names in the rows, sorted: as numbers if all are numbers.
std::vector<std::string> classes_in(const std::vector<Labelled>& rows) {
  std::vector<std::string> names;
  for (const Labelled& row : rows) names.push_back(row.label);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const bool numbers = std::all_of(names.begin(), names.end(),
                                   [](const std::string& name) { return number_of(name).has_value(); });
  if (numbers) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *number_of(a) < *number_of(b);
    });
  }
  return names;
}

/// `labels`: what the files call the classes.
ImageSet set_of(std::vector<Labelled> rows, const std::vector<std::string>& labels, const fs::path& path,
                const Requirements& model, const Alphabet& alphabet) {
  check_memory(path.string(), static_cast<std::int64_t>(rows.size()), model.shape);
  std::map<std::string_view, std::uint8_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers[labels[i]] = static_cast<std::uint8_t>(i);
  ImageSet set{model.shape.height, model.shape.width, model.shape.channels, 0, {}, {}, {}};
  set.pixels.reserve(rows.size() * static_cast<std::size_t>(set.image_bytes()));
  for (Labelled& row : rows) {
    const auto label = numbers.find(row.label);
    if (label == numbers.end()) {
      throw core::BadInput(fmt::format("{}:{}: '{}' is no class; those to train on have: {}", path.string(),
                                       row.line, row.label, fmt::join(labels, ", ")));
    }
    add_text(std::move(row.text), label->second, alphabet, set);
  }
  return set;
}

std::int64_t size_of(const fs::path& path) noexcept {
  std::error_code failure;
  const auto bytes = fs::file_size(path, failure);
  return failure ? -1 : static_cast<std::int64_t>(bytes);
}

}  // namespace

std::string text_of(const CsvRow& row, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < row.fields.size(); ++i) {
    if (row.fields[i].empty()) continue;
    text += (text.empty() ? "" : " ") + row.fields[i];
  }
  return text;
}

bool is_csv(const fs::path& path) {
  return small(path.extension().string()) == ".csv";
}

bool is_title(const CsvRow& row) {
  if (row.fields.size() == 1) return small(row.fields[0]) == "text";
  const std::string label = small(row.fields[0]), text = small(row.fields[1]);
  return (label == "label" || label == "class") && (text == "text" || text == "title");
}

void add_text(std::string text, std::uint8_t label, const Alphabet& alphabet, ImageSet& set) {
  const std::size_t begin = set.pixels.size();
  set.pixels.resize(begin + static_cast<std::size_t>(set.image_bytes()));
  alphabet.encode(text, std::span(set.pixels).subspan(begin));
  set.labels.push_back(label);
  set.texts.push_back(std::move(text));
  ++set.count;
}

bool holds_texts(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) return false;
  const std::vector<fs::path> files = csv_files(folder);
  return files.size() == 1 || has_file(files, kTrainFile) || has_file(files, kPartFile) ||
         has_file(files, kTestFile);
}

bool ag_news_is_complete(const fs::path& folder) noexcept {
  try {
    return size_of(folder / kTrainFile) == kTrainBytes && size_of(folder / kTestFile) == kTestBytes;
  } catch (const std::exception&) {  // of memory, for the path
    return false;
  }
}

DataSet load_ag_news(const SetRow& set, const fs::path& folder, const Requirements& model,
                     const Stopped& stopped) {
  static const std::vector<std::string> kLabels{"1", "2", "3", "4"};
  const auto [train, test] = find_files(folder);
  if (test.empty()) throw core::BadInput(fmt::format("{} lacks {}", folder.string(), kTestFile));
  const Alphabet alphabet(model.alphabet);
  const auto load = [&](const fs::path& path) {
    std::vector<Labelled> rows = read_rows(path, 3, 3, false, stopped);
    for (Labelled& row : rows) row.text = with_line_breaks(std::move(row.text));
    return set_of(std::move(rows), kLabels, path, model, alphabet);
  };
  DataSet loaded;
  loaded.classes = set.classes;
  loaded.train = load(train);
  loaded.test = load(test);
  if (train.filename() != kTrainFile) {
    loaded.notice = fmt::format("{} is not there: {} holds {} of the rows of {}", kTrainFile, train.string(),
                                files::grouped(loaded.train.count), set.title);
  }
  return loaded;
}

DataSet load_csv(const SetRow&, const fs::path& folder, const Requirements& model, const Stopped& stopped) {
  const auto [train, test] = find_files(folder);
  const Alphabet alphabet(model.alphabet);
  const auto read = [&](const fs::path& path) {
    return read_rows(path, 2, static_cast<std::size_t>(-1), true, stopped);
  };
  std::vector<Labelled> rows = read(train);
  DataSet loaded;
  loaded.classes = classes_in(rows);
  check_classes(train.string(), loaded.classes.size(), model);
  loaded.train = set_of(std::move(rows), loaded.classes, train, model, alphabet);
  if (!test.empty()) {
    loaded.test = set_of(read(test), loaded.classes, test, model, alphabet);
    return loaded;
  }
  move_images(every_tenth(loaded.train), loaded.train, loaded.test);
  if (loaded.test.count == 0) {
    throw core::BadInput(
        fmt::format("each class of {} has one text, which leaves none to test with", train.string()));
  }
  loaded.notice = fmt::format("{} has no {}, so that every tenth text of each class tests: {} texts",
                              folder.string(), kTestFile, files::grouped(loaded.test.count));
  return loaded;
}

}  // namespace warpscope::data
