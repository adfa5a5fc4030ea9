#pragma once
// Aligned columns of text, and one line that tells how far a long command is.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace warpscope::app {

enum class Align { left, right };
/// How a row stands out on a terminal: what could not run is dim, what failed is red.
enum class Tone { plain, dim, bad };

struct Column {
  std::string title;
  Align align = Align::right;
  std::size_t most =
      0;  ///< characters of a cell, of whose middle more than these are left out; 0: all are shown
};

/// Text that is `columns` wide on the screen gets spaces up to that width. Widths are counted in code points.
std::string padded(const std::string& text, std::size_t columns, Align align);

/// `text` in a tone, if standard output is a terminal.
std::string toned(const std::string& text, Tone tone);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Fewer cells than columns: the last one given then runs on to the end of the line.
  void add(std::vector<std::string> cells, Tone tone = Tone::plain);
  bool empty() const { return rows_.empty(); }
  /// Title line and rows, each ended by a newline.
  std::string text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tone tone;
  };
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// Redrawn in place on standard error where that is a terminal; elsewhere nothing.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(int done, int total, const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool drawn_ = false;
};

/// "1.2 KiB", "256.0 MiB"; "0" for none.
std::string bytes_text(double bytes);
/// Three digits that count: "0.0123", "1.23", "123", "12,345".
std::string figure(double value);

/// Throws core::BadInput that names `option` unless the folder of `file` is there and can be written to.
void check_folder_of(const std::string& option, const std::filesystem::path& file);
/// Checks at the start that `file` ("" and "-" are fine) can be made, so that nothing measured is lost.
/// Throws core::BadInput that names `option`.
void check_output_file(const std::string& option, const std::string& file);
/// Writes `text` to `file`, to standard output for "-", nowhere for "".
void write_output(const std::string& file, const std::string& text);

}  // namespace warpscope::app
