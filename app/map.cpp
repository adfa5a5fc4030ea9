// warpscope map: what a trained network makes of test images, as points in the plane.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/options.h"
#include "app/table.h"
#include "app/trained_source.h"
#include "gpu/core/error.h"
#include "gpu/features/feature_files.h"
#include "gpu/features/feature_map.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"

namespace warpscope::app {
namespace {

struct MapArguments {
  TrainedArguments trained;
  std::string method = "tsne";  ///< of maps::map_table()
  maps::MapOptions options;
  std::int64_t rows = 0;  ///< the first of the test images; 0: as many as the device takes well
  std::string out;
  std::string format;  ///< as that of FeaturesArguments
};

/// It has no name of a device: it is used on the source's.
features::Subject subject_of(TrainedSource& source) {
  features::Subject subject;
  subject.model = source.network.settings.model;
  subject.precision = source.selection.precision;
  subject.parameters = std::make_shared<const std::vector<float>>(std::move(source.network.parameters));
  subject.data = training::view_of(source.data);
  return subject;
}

int make(const MapArguments& a) {
  files::answer_is_in_files();
  const features::FeatureFormat format = features::feature_format(a.format, a.out);
  check_output_file("--out", a.out);
  if (a.out == "-") throw core::BadInput("--out: a map goes to a file; name one");
  maps::find_map(a.method);
  TrainedSource source = open_trained(a.trained);
  features::MapRequest request;
  request.subject = subject_of(source);
  request.layers = features::to_string(source.layers);
  request.method = a.method;
  request.options = a.options;
  request.images = a.rows;
  std::shared_ptr<const features::MapPicture> made;
  const InterruptStop stop;
  try {
    told_of_weights(source.network, [&] {
      features::FeatureMap(source.device)
          .make(request, [&](const auto& picture) { made = picture; }, {{}, stop.token()});
      return 0;
    });
  } catch (const classifiers::Cancelled&) {
    files::warn("interrupted; nothing was written");
    return 1;
  }
  const features::MapFacts& facts = *made->facts;
  features::FeatureTable table;
  table.values = made->places;
  table.columns = 2;
  table.layers = facts.layers;
  const auto& labels = source.data->test.labels;
  table.labels.assign(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(facts.images));
  features::write_features(a.out, format, table);
  files::print("features     {} of {}, {} of {}, in {:.3f} s\n", files::counted(facts.images, "row"),
               files::counted(facts.columns, "column"), facts.layers, request.subject.model.name,
               facts.feature_seconds);
  files::print("data         {}, test, of {}\n", source.data->name,
               files::counted(source.data->test.count, "image"));
  files::print("map          {}, {} in {:.3f} s after {:.3f} s for neighbours{}\n",
               maps::find_map(a.method).title, files::counted(made->iterations, "iteration"), made->seconds,
               facts.begin_seconds,
               made->objective ? fmt::format(", divergence {:.4f}", *made->objective) : "");
  for (const std::string& remark : facts.remarks) files::print("remark       {}\n", remark);
  files::print("device       {}, {}\n", source.device->info().name,
               core::to_string(request.subject.precision));
  files::print("written      {}\n", a.out);
  if (format == features::FeatureFormat::npy) {
    files::print("labels       {}\n", features::labels_file(a.out).string());
  }
  return 0;
}

}  // namespace

Run map(CLI::App& app) {
  const auto a = std::make_shared<MapArguments>();
  add_trained_options(app, a->trained);
  std::vector<std::string> names;
  for (const auto& row : maps::map_table()) names.push_back(fmt::format("{} ({})", row.name, row.title));
  app.add_option("--method", a->method, fmt::format("{}", fmt::join(names, ", ")))->capture_default_str();
  app.add_option("--rows", a->rows, "The first N test images (default: 3000 on a GPU, 1000 on a CPU)")
      ->check(refuse_not_positive);
  app.add_option("--perplexity", a->options.tsne.perplexity, "tsne: effective number of neighbours")
      ->capture_default_str();
  app.add_option("--neighbours", a->options.umap.n_neighbors, "umap: neighbours of each image")
      ->capture_default_str();
  app.add_option("--min-dist", a->options.umap.min_dist, "umap: how close points may lie")
      ->capture_default_str();
  app.add_option("--seed", a->options.seed, "Seed of the random numbers")->capture_default_str();
  app.add_option("--out", a->out, "File to write")->type_name("FILE")->required();
  app.add_option("--format", a->format, "npy, csv, safetensors or libsvm (default: as the file's name ends)");
  return [a] { return make(*a); };
}

}  // namespace warpscope::app
