#include "gpu/data/text_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/csv.h"
#include "gpu/data/notices.h"
#include "gpu/data/text_file.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

constexpr std::size_t kRowsBetweenStops = 4096;

// As titles of published files have them, without what is no letter or digit.
constexpr std::array<std::string_view, 19> kLabelWords{
    "label",      "labels",    "class",  "classes", "classindex", "classname", "category",
    "categories", "sentiment", "target", "targets", "polarity",   "topic",     "emotion",
    "intent",     "tag",       "y",      "v1",      "labeltext"};
constexpr std::array<std::string_view, 26> kTextWords{
    "text",     "texts",     "tweet",   "tweets",   "review",     "reviews",       "reviewtext",
    "sentence", "sentences", "title",   "headline", "message",    "content",       "description",
    "document", "body",      "comment", "comments", "question",   "questiontitle", "abstract",
    "article",  "email",     "sms",     "v2",       "commenttext"};
constexpr std::array<std::string_view, 11> kOtherWords{
    "", "id", "ids", "index", "idx", "number", "date", "user", "author", "unnamed0", "sentenceid"};

enum class Column : std::uint8_t { label, text, other, unknown };

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Column column_of(std::string_view title) {
  std::string word;
  for (const char c : files::lower_case(title)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0) word += c;
  }
  const auto is_in = [&](const auto& words) { return std::ranges::find(words, word) != words.end(); };
  if (is_in(kLabelWords)) return Column::label;
  if (is_in(kTextWords)) return Column::text;
  return is_in(kOtherWords) ? Column::other : Column::unknown;
}

/// Which fields of a row are what.
struct Columns {
  std::optional<std::size_t> label;
  std::vector<std::size_t> texts;
  std::size_t titles = 0;  ///< further fields belong to the text
};

/// What a first row says of the others; nothing if it is no title.
std::optional<Columns> columns_in(const CsvRow& row) {
  Columns columns;
  columns.titles = row.fields.size();
  bool all_known = true;
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const Column column = column_of(row.fields[i]);
    // Columns without a name behind the text are parts of texts with commas.
    const bool rest = !columns.texts.empty() && trimmed(row.fields[i]).empty();
    if (column == Column::text || rest) columns.texts.push_back(i);
    if (column == Column::label && !columns.label) columns.label = i;
    all_known = all_known && column != Column::unknown;
  }
  if (columns.texts.empty() || (!columns.label && !all_known)) return std::nullopt;
  return columns;
}

void append(const std::string& field, std::string& text) {
  if (!field.empty()) text += (text.empty() ? "" : " ") + field;
}

/// For a row without titles `columns` is empty.
TextRow row_of(const CsvRow& row, const std::optional<Columns>& columns) {
  TextRow read{{}, {}, row.line};
  const std::size_t count = row.fields.size();
  if (columns) {
    if (columns->label) read.label = trimmed(row.fields[*columns->label]);
    for (const std::size_t i : columns->texts) append(row.fields[i], read.text);
    for (std::size_t i = columns->titles; i < count; ++i) append(row.fields[i], read.text);
    return read;
  }
  if (count > 1) read.label = trimmed(row.fields.front());
  for (std::size_t i = count > 1 ? 1 : 0; i < count; ++i) append(row.fields[i], read.text);
  return read;
}

/// Fields of Excel's in many countries, or of a table with tabs.
std::string_view other_separator(const CsvRow& row) {
  if (row.fields.size() > 1) return "";
  const std::string& field = row.fields.front();
  if (field.find('\t') != std::string::npos) return "; a comma separates fields, not a tab";
  if (field.find(';') != std::string::npos) return "; a comma separates fields, not a semicolon";
  return field.find('|') != std::string::npos ? "; a comma separates fields, not a bar (|)" : "";
}

void check_fields(const CsvRow& row, const std::string& where, const Fields& needed) {
  const std::size_t count = row.fields.size();
  if (count >= needed.least && count <= needed.most) return;
  throw core::BadInput(
      fmt::format("{}:{}: {} field{} in a row, {} {} needed{}", where, row.line, count, count == 1 ? "" : "s",
                  needed.least, needed.least == needed.most ? "are" : "or more are", other_separator(row)));
}

/// "train.csv:1 is a title, not a text: the class is in 'label', the text in 'text'"
std::string tell_title(const CsvRow& row, const Columns& columns, const std::string& where) {
  std::string texts;
  for (const std::size_t i : columns.texts) {
    if (!row.fields[i].empty())
      texts += fmt::format("{}'{}'", texts.empty() ? "" : " and ", trimmed(row.fields[i]));
  }
  const std::string label =
      columns.label ? fmt::format("the class is in '{}', ", trimmed(row.fields[*columns.label])) : "";
  return fmt::format("{}:{} is a title, not a text: {}the text is in {}", where, row.line, label, texts);
}

/// Excel's first line that names the separator.
bool is_separator_line(const CsvRow& row) {
  return row.fields.size() == 2 && row.fields.front() == "sep=" && row.fields.back().empty();
}

/// Files that were put behind each other bring the title of each.
void tell_repeated(std::size_t count, const std::string& where, std::string& notice) {
  if (count == 0) return;
  add_notice(
      fmt::format("{} row{} of {} {} the title once more and {} left out", count, count == 1 ? "" : "s",
                  where, count == 1 ? "is" : "are", count == 1 ? "was" : "were"),
      notice);
}

bool is_number(std::string_view text) {
  return files::number_in<double>(text).has_value();
}

}  // namespace

TextTable read_text_table(const std::filesystem::path& path, const Fields& fields, const Stopped& stopped) {
  TextTable table{path, {}};
  const std::string content = read_text_file(path, table.notice);
  const std::string where = path.string();
  CsvReader reader(content, where);
  std::optional<Columns> columns;
  std::vector<std::string> title;
  std::size_t repeated = 0;
  Fields needed = fields;
  bool first = true;
  std::string_view separator;  // of each row so far, other than a comma
  while (std::optional<CsvRow> row = reader.next()) {
    if (table.rows.size() % kRowsBetweenStops == 0 && stopped && stopped()) {
      throw core::Error("reading the texts was stopped");
    }
    if (first && is_separator_line(*row)) continue;
    const bool is_first = std::exchange(first, false);
    if (is_first) columns = columns_in(*row);
    if (is_first && columns) {
      if (fields.least > 1 && !columns->label) {
        throw core::BadInput(
            fmt::format("{}:{}: by this title no column is the class; call it label", where, row->line));
      }
      add_notice(tell_title(*row, *columns, where), table.notice);
      table.untitled = false;
      needed.least = std::max(columns->label.value_or(0), columns->texts.front()) + 1;
      title = row->fields;
      continue;
    }
    if (columns && row->fields == title) {
      ++repeated;
      continue;
    }
    check_fields(*row, where, needed);
    if (is_first || !separator.empty()) separator = other_separator(*row);
    if (columns) row->fields.resize(std::max(row->fields.size(), columns->titles));
    table.rows.push_back(row_of(*row, columns));
  }
  if (table.rows.empty()) throw core::BadInput(fmt::format("{} holds no texts", where));
  tell_repeated(repeated, where, table.notice);
  if (table.rows.size() > 1 && !separator.empty())
    add_notice(fmt::format("each row of {} is taken for one text{}", where, separator), table.notice);
  return table;
}

void drop_strange_titles(std::span<TextTable* const> tables, const std::set<std::string>& known) {
  std::set<std::string> classes;
  std::size_t in_first = 0;
  for (const TextTable* table : tables) {
    for (std::size_t i = table->untitled ? 1 : 0; i < table->rows.size(); ++i) {
      if (!table->rows[i].label.empty()) classes.insert(table->rows[i].label);
    }
    if (table == tables.front()) in_first = classes.size();
  }
  const auto is_known = [&](const std::string& label) { return known.contains(label); };
  if (in_first < 2 && std::ranges::none_of(classes, is_known)) return;
  if (!tables.front()->untitled) return;
  const std::string title = tables.front()->rows.front().label;
  const bool numbers = is_number(title) && std::ranges::all_of(classes, is_number);
  if (title.empty() || numbers || classes.contains(title) || is_known(title)) return;
  for (TextTable* table : tables) {
    if (!table->untitled || table->rows.front().label != title) continue;
    add_notice(fmt::format(
                   "{}:{} is taken for a title and left out, since no other row has the class '{}'; if it is "
                   "none, begin the file with a row label,text",
                   table->path.string(), table->rows.front().line, title),
               table->notice);
    table->rows.erase(table->rows.begin());
    table->untitled = false;
  }
}

void drop_unlabelled(TextTable& table) {
  const auto has_none = [](const TextRow& row) { return row.label.empty(); };
  const auto first = std::ranges::find_if(table.rows, has_none);
  if (first == table.rows.end()) return;
  const std::size_t line = first->line, all = table.rows.size();
  table.rows.erase(std::remove_if(first, table.rows.end(), has_none), table.rows.end());
  const std::size_t dropped = all - table.rows.size();
  if (table.rows.empty())
    throw core::BadInput(fmt::format("{}:{}: no row has a class", table.path.string(), line));
  add_notice(fmt::format("{} of {} rows of {} {} no class and {} left out, the first on line {}",
                         files::grouped(dropped), files::grouped(all), table.path.string(),
                         dropped == 1 ? "has" : "have", dropped == 1 ? "was" : "were", line),
             table.notice);
}

}  // namespace warpscope::data
