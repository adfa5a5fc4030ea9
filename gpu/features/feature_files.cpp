#include "gpu/features/feature_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/parallel.h"
#include "gpu/features/npy.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/safetensors.h"

namespace warpscope::features {
namespace {

namespace fs = std::filesystem;

struct FormatRow {
  FeatureFormat format;
  std::string_view name;
};

constexpr std::array<FormatRow, 4> kFormats{{{FeatureFormat::npy, "npy"},
                                             {FeatureFormat::csv, "csv"},
                                             {FeatureFormat::safetensors, "safetensors"},
                                             {FeatureFormat::libsvm, "libsvm"}}};

constexpr std::int64_t kRowsAtOnce = 2048, kRowsOfPiece = 32;

void append(std::string& text, float value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

void append_csv(std::string& text, const float* values, int columns, int label) {
  text += std::to_string(label);
  for (int i = 0; i < columns; ++i) {
    text += ',';
    append(text, values[i]);
  }
  text += '\n';
}

void append_libsvm(std::string& text, const float* values, int columns, int label) {
  text += std::to_string(label);
  for (int i = 0; i < columns; ++i) {
    if (values[i] == 0) continue;
    text += ' ';
    text += std::to_string(i + 1);
    text += ':';
    append(text, values[i]);
  }
  text += '\n';
}

using RowWriter = void (*)(std::string& text, const float* values, int columns, int label);

/// Numbers become text on all cores; the file gets it in order.
void write_text(files::AtomicFile& file, const FeatureTable& table, RowWriter append_row) {
  for (std::int64_t first = 0; first < table.rows(); first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, table.rows() - first);
    std::vector<std::string> pieces(static_cast<std::size_t>((count + kRowsOfPiece - 1) / kRowsOfPiece));
    core::parallel_for(count, kRowsOfPiece, 0, [&](std::int64_t begin, std::int64_t end) {
      std::string& piece = pieces[static_cast<std::size_t>(begin / kRowsOfPiece)];
      for (std::int64_t row = first + begin; row < first + end; ++row) {
        append_row(piece, table.values.data() + row * table.columns, table.columns,
                   table.labels[static_cast<std::size_t>(row)]);
      }
    });
    for (const std::string& piece : pieces) file.write(piece);
  }
}

std::string csv_head(int columns) {
  std::string head = "label";
  for (int i = 0; i < columns; ++i) head.append(",f").append(std::to_string(i));
  return head.append("\n");
}

void write_as_safetensors(const fs::path& path, const FeatureTable& table) {
  files::NamedTensor labels{"labels", {table.rows()}, {}};
  for (const int label : table.labels) labels.values.push_back(static_cast<float>(label));
  const std::vector<files::NamedTensor> tensors{{"features", {table.rows(), table.columns}, table.values},
                                                std::move(labels)};
  files::write_safetensors(path, tensors, {{"layers", table.layers}});
}

void write_as_npy(const fs::path& path, const FeatureTable& table) {
  write_npy(path, "<f4", {table.rows(), table.columns}, table.values.data(),
            table.values.size() * sizeof(float));
  const std::vector<std::int32_t> labels(table.labels.begin(), table.labels.end());
  write_npy(labels_file(path), "<i4", {table.rows()}, labels.data(), labels.size() * sizeof(std::int32_t));
}

}  // namespace

FeatureFormat feature_format(std::string_view name, const fs::path& file) {
  const std::string ending = file.extension().string();
  const std::string_view wanted = !name.empty() || ending.empty() ? name : std::string_view(ending).substr(1);
  for (const FormatRow& row : kFormats) {
    if (row.name == wanted) return row.format;
  }
  if (wanted.empty()) {
    throw core::BadInput(fmt::format(
        "the name {} tells no format; end it in .npy, .csv, .safetensors or .libsvm", file.string()));
  }
  throw core::BadInput(
      fmt::format("there is no format '{}' of features; valid: npy, csv, safetensors, libsvm", wanted));
}

fs::path labels_file(const fs::path& file) {
  fs::path name = file.stem();
  name += ".labels.npy";
  return file.parent_path() / name;
}

void write_features(const fs::path& path, FeatureFormat format, const FeatureTable& table) {
  if (format == FeatureFormat::safetensors) return write_as_safetensors(path, table);
  if (format == FeatureFormat::npy) return write_as_npy(path, table);
  files::AtomicFile file(path);
  if (format == FeatureFormat::csv) file.write(csv_head(table.columns));
  write_text(file, table, format == FeatureFormat::csv ? append_csv : append_libsvm);
  file.commit();
}

}  // namespace warpscope::features
