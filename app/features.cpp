// warpscope features: what layers of a trained network make of images, as a file for other programs.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/options.h"
#include "app/table.h"
#include "app/trained_source.h"
#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/features/feature_files.h"
#include "gpu/features/subject.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"

namespace warpscope::app {
namespace {

struct FeaturesArguments {
  TrainedArguments trained;
  std::string split = "all";  ///< train, test, all
  std::int64_t rows = 0;      ///< the first so many images of each part; 0: all
  std::string out;
  std::string format;  ///< npy, csv, safetensors, libsvm; "" for what the file's name ends with
};

/// The sets that --split names, in order.
std::vector<const data::ImageSet*> sets_of(const data::DataSet& data, const std::string& split) {
  if (split == "train") return {&data.train};
  if (split == "test") return {&data.test};
  if (split == "all") return {&data.train, &data.test};
  throw core::BadInput(
      fmt::format("--split: there is no part '{}' of the data; valid: train, test, all", split));
}

/// Adds the rows of one set; returns the seconds that the device took for them. Throws classifiers::Cancelled.
double append_rows(features::FeatureTable& table, const TrainedSource& source, const data::ImageSet& set,
                   const std::stop_token& stop) {
  const auto start = core::Clock::now();
  const core::Buffer rows = source.features_of(set, {{}, stop});
  const double seconds = core::seconds_since(start);
  const std::size_t before = table.values.size();
  table.values.resize(before + rows.bytes() / sizeof(float));
  source.stream->copy(table.values.data() + before, rows.data(), rows.bytes());
  source.stream->synchronize();
  table.labels.insert(table.labels.end(), set.labels.begin(), set.labels.end());
  return seconds;
}

int write(const FeaturesArguments& a) {
  files::answer_is_in_files();
  const features::FeatureFormat format = features::feature_format(a.format, a.out);
  check_output_file("--out", a.out);
  if (a.out == "-") throw core::BadInput("--out: features go to a file; name one");
  const TrainedSource source = open_trained(a.trained);
  if (!source.network.not_finite.empty()) files::warn(source.network.not_finite);
  const auto sets = sets_of(*source.data, a.split);
  features::FeatureTable table;
  table.columns = features::columns_of(source.layers);
  table.layers = features::to_string(source.layers);
  double seconds = 0;
  const InterruptStop stop;
  try {
    for (const data::ImageSet* set : sets) {
      std::optional<data::ImageSet> first;
      if (a.rows > 0) first = features::first_of(*set, a.rows);
      seconds += append_rows(table, source, first ? *first : *set, stop.token());
    }
  } catch (const classifiers::Cancelled&) {
    files::warn("interrupted; nothing was written");
    return 1;
  }
  const auto start = core::Clock::now();
  features::write_features(a.out, format, table);
  files::print("features     {} of {}, {} of {}\n", files::counted(table.rows(), "row"),
               files::counted(table.columns, "column"), table.layers, source.network.settings.model.name);
  files::print("weights      {}\n", source.network.weights.string());
  files::print("data         {}, {}\n", source.data->name, a.split == "all" ? "train then test" : a.split);
  files::print("device       {}, {}: {:.3f} s\n", source.device->info().name,
               core::to_string(source.selection.precision), seconds);
  files::print("written      {} in {:.2f} s\n", a.out, core::seconds_since(start));
  if (format == features::FeatureFormat::npy) {
    files::print("labels       {}\n", features::labels_file(a.out).string());
  }
  return 0;
}

}  // namespace

Run features(CLI::App& app) {
  const auto a = std::make_shared<FeaturesArguments>();
  add_trained_options(app, a->trained);
  app.add_option("--split", a->split, "Images of train, test or all (train, then test)")
      ->capture_default_str();
  app.add_option("--rows", a->rows, "The first N images of each part (default: all)")
      ->check(refuse_not_positive);
  app.add_option("--out", a->out, "File to write")->type_name("FILE")->required();
  app.add_option("--format", a->format, "npy, csv, safetensors or libsvm (default: as the file's name ends)");
  return [a] { return write(*a); };
}

}  // namespace warpscope::app
