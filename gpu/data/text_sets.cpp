#include "gpu/data/text_sets.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/data/halves.h"
#include "gpu/data/near_misses.h"
#include "gpu/data/notices.h"
#include "gpu/data/split.h"
#include "gpu/data/text_table.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrainFile = "train.csv";
constexpr std::string_view kTestFile = "test.csv";
constexpr std::int64_t kTrainBytes = 29'470'338;  // of AG News
constexpr std::int64_t kTestBytes = 1'857'427;

/// The files in `folder` itself that end in .csv and are not hidden, by name.
std::vector<fs::path> csv_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : shown_in(folder)) {
    std::error_code broken;  // a link that leads nowhere is no file
    if (is_csv(entry.path()) && entry.is_regular_file(broken)) found.push_back(entry.path());
  }
  return found;
}

/// Files by Half; those that are called exactly as a half is come before those with its name in theirs.
struct CsvFiles {
  Halves halves;
  std::vector<std::string> unused;  ///< names of the other files

  const fs::path& of(Half half) const { return data::of(halves, half); }
};

CsvFiles find_tables(const fs::path& folder) {
  const std::vector<fs::path> files = csv_files(folder);
  CsvFiles found{find_halves(files, half_of, half_in), {}};
  fs::path& train = data::of(found.halves, Half::train);
  if (files.size() == 1 && !half_of(files.front().stem().string())) {
    found.halves = {};
    train = files.front();
  }
  if (train.empty()) {
    const std::string miss = near_miss(folder, true);
    throw core::BadInput(
        fmt::format("{} lacks {}{}{}", folder.string(), kTrainFile, miss.empty() ? "" : ": ", miss));
  }
  fs::path& test = data::of(found.halves, Half::test);
  if (test.empty()) test = std::exchange(data::of(found.halves, Half::validation), {});
  for (const fs::path& file : files) {
    const bool used = std::ranges::find(found.halves, file) != found.halves.end();
    if (!used) found.unused.push_back(file.filename().string());
  }
  return found;
}

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

/// The names in the rows, sorted: as numbers if all are numbers.
std::vector<std::string> classes_in(const std::vector<TextRow>& rows) {
  std::vector<std::string> names;
  for (const TextRow& row : rows) names.push_back(row.label);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const bool numbers = std::ranges::all_of(
      names, [](const std::string& name) { return files::number_in<int>(name).has_value(); });
  if (numbers) {
    std::ranges::stable_sort(names, [](const std::string& a, const std::string& b) {
      return *files::number_in<int>(a) < *files::number_in<int>(b);
    });
  }
  return names;
}

/// `labels`: what the files call the classes.
ImageSet set_of(TextTable table, const std::vector<std::string>& labels, const Requirements& model,
                const Alphabet& alphabet) {
  std::vector<TextRow>& rows = table.rows;
  const fs::path& path = table.path;
  check_memory(path.string(), static_cast<std::int64_t>(rows.size()), model.shape);
  std::map<std::string_view, std::uint8_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers[labels[i]] = static_cast<std::uint8_t>(i);
  ImageSet set{model.shape.height, model.shape.width, model.shape.channels, 0, {}, {}, {}};
  set.pixels.reserve(rows.size() * static_cast<std::size_t>(set.image_bytes()));
  for (TextRow& row : rows) {
    const auto label = numbers.find(row.label);
    if (label == numbers.end()) {
      throw core::BadInput(fmt::format("{}:{}: '{}' is no class; those to train on have: {}", path.string(),
                                       row.line, row.label, fmt::join(labels, ", ")));
    }
    add_text(std::move(row.text), label->second, alphabet, set);
  }
  return set;
}

/// Nearly each of the texts that stand before their classes is one: that is told too where these are too many.
void check_classes_of_rows(const std::string& path, std::size_t classes, std::size_t rows,
                           const Requirements& model) {
  try {
    check_classes(path, classes, model);
  } catch (const core::BadInput& error) {
    if (classes < 3 || 2 * classes <= rows) throw;
    throw core::BadInput(
        fmt::format("{}; the class is the first field of each of its {} rows, unless a title says otherwise",
                    error.what(), files::grouped(rows)));
  }
}

std::int64_t size_of(const fs::path& path) noexcept {
  std::error_code failure;
  const auto bytes = fs::file_size(path, failure);
  return failure ? -1 : static_cast<std::int64_t>(bytes);
}

}  // namespace

bool is_csv(const fs::path& path) {
  return files::lower_case(path.extension().string()) == ".csv";
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
  return files.size() == 1 || std::ranges::any_of(files, [](const fs::path& path) {
           return half_in(path.stem().string()).has_value();
         });
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
  const CsvFiles files = find_tables(folder);
  const fs::path& train = files.of(Half::train);
  if (files.of(Half::test).empty())
    throw core::BadInput(fmt::format("{} lacks {}", folder.string(), kTestFile));
  const Alphabet alphabet(model.alphabet);
  DataSet loaded;
  loaded.classes = set.classes;
  const auto load = [&](const fs::path& path) {
    TextTable table = read_text_table(path, {3, 3}, stopped);
    for (TextRow& row : table.rows) row.text = with_line_breaks(row.text);
    add_notice(table.notice, loaded.notice);
    return set_of(std::move(table), kLabels, model, alphabet);
  };
  loaded.train = load(train);
  loaded.test = load(files.of(Half::test));
  if (!half_of(train.stem().string())) {
    add_notice(fmt::format("{} is not there: {} holds {} of the rows of {}", kTrainFile, train.string(),
                           files::grouped(loaded.train.count), set.title),
               loaded.notice);
  }
  return loaded;
}

DataSet load_csv(const SetRow&, const fs::path& folder, const Requirements& model, const Stopped& stopped) {
  const CsvFiles files = find_tables(folder);
  const Alphabet alphabet(model.alphabet);
  std::array<TextTable, 3> tables;
  std::vector<TextTable*> there;
  for (const Half half : {Half::train, Half::test, Half::validation}) {
    if (files.of(half).empty()) continue;
    TextTable& table = tables[static_cast<std::size_t>(half)];
    table = read_text_table(files.of(half), {2}, stopped);
    there.push_back(&table);
  }
  drop_strange_titles(there);
  DataSet loaded;
  for (TextTable* table : there) {
    drop_unlabelled(*table);
    add_notice(table->notice, loaded.notice);
  }
  const auto load = [&](Half half) {
    return set_of(std::move(tables[static_cast<std::size_t>(half)]), loaded.classes, model, alphabet);
  };
  const std::string train = files.of(Half::train).string();
  const std::vector<TextRow>& rows = tables[static_cast<std::size_t>(Half::train)].rows;
  loaded.classes = classes_in(rows);
  check_classes_of_rows(train, loaded.classes.size(), rows.size(), model);
  loaded.train = load(Half::train);
  const fs::path &test = files.of(Half::test), &validation = files.of(Half::validation);
  if (!validation.empty()) {
    loaded.validation = load(Half::validation);
    add_notice(tell_validation(false, loaded.validation.count, "text", validation.string()), loaded.notice);
  }
  if (!test.empty()) {
    loaded.test = load(Half::test);
    if (half_in(test.stem().string()) == Half::validation) {
      add_notice(tell_validation(true, loaded.test.count, "text", test.string()), loaded.notice);
    }
  } else {
    move_images(every_tenth(loaded.train), loaded.train, loaded.test);
    if (loaded.test.count == 0) {
      throw core::BadInput(
          fmt::format("each class of {} has one text, which leaves none to test with", train));
    }
    add_notice(fmt::format("{} has no {}, so that every tenth text of each class tests: {}", folder.string(),
                           kTestFile, files::counted(loaded.test.count, "text")),
               loaded.notice);
  }
  if (!files.unused.empty()) {
    add_notice(fmt::format("not looked at in {}: {}", folder.string(), fmt::join(files.unused, ", ")),
               loaded.notice);
  }
  return loaded;
}

}  // namespace warpscope::data
