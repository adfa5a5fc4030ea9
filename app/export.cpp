// warpscope export: runs in formats of others.

#include "gpu/export/export.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/bench_chart.h"
#include "app/commands.h"
#include "app/options.h"
#include "app/png.h"
#include "app/run_folders.h"
#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/runs/find_checkpoint.h"

namespace warpscope::app {
namespace {

struct ExportArguments {
  std::vector<std::string> runs;  ///< folders, or names in the default folder of runs; or a file of `bench`
  std::string to;                 ///< csv, tensorboard, safetensors, svg, png, json, trace
  std::string out;                ///< file ("-" for standard output, where it is text or a picture) or folder
  std::vector<std::string> series;
  std::string over;  ///< step, epoch, seconds; "" for step
  bool logarithmic = false;
  std::string title;
  std::string checkpoint;  ///< best, last, or a file; "" for last
  std::string precision;   ///< of a file of `bench`; "" for the first in it
};

struct Format {
  std::string_view name;
  bool several_runs;
  bool to_stdout;
  bool picture;
};

constexpr std::array kFormats{
    Format{"csv", false, true, false},
    Format{"tensorboard", true, false, false},
    Format{"safetensors", false, false, false},
    Format{"svg", true, true, true},
    Format{"png", true, true, true},
    Format{"json", false, true, false},
    Format{"trace", false, true, false},
};

const Format& format_named(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kFormats, [&](const Format& format) { return format.name == name; });
  if (found != kFormats.end()) return *found;
  throw core::BadInput(fmt::format(
      "--to: there is no format '{}'; valid: csv, tensorboard, safetensors, svg, png, json, trace", name));
}

runs::Over over_named(const std::string& name) {
  if (name.empty() || name == "step") return runs::Over::step;
  if (name == "epoch") return runs::Over::epoch;
  if (name == "seconds") return runs::Over::seconds;
  throw core::BadInput(fmt::format("--over: there is no axis '{}'; valid: step, epoch, seconds", name));
}

void check(const ExportArguments& a, const Format& format) {
  if (a.runs.size() > 1 && !format.several_runs) {
    throw core::BadInput(fmt::format("{} takes one run, but {} are given; export them one by one",
                                     format.name, a.runs.size()));
  }
  if (!format.picture && (!a.series.empty() || !a.over.empty() || a.logarithmic || !a.title.empty())) {
    throw core::BadInput(fmt::format(
        "--series, --over, --log and --title are for svg and png; {} holds everything", format.name));
  }
  if (format.name != "safetensors" && !a.checkpoint.empty())
    throw core::BadInput("--checkpoint is for safetensors; leave it out");
  if (a.out == "-" && !format.to_stdout) {
    throw core::BadInput(fmt::format("{} cannot go to standard output; name a {} with --out", format.name,
                                     format.name == "tensorboard" ? "folder" : "file"));
  }
  if (format.name != "tensorboard") check_output_file("--out", a.out);
}

/// A file stands for what bench measured; runs are folders.
bool is_bench_file(const ExportArguments& a) {
  std::error_code error;
  return a.runs.size() == 1 && std::filesystem::is_regular_file(a.runs.front(), error);
}

std::string bench_picture(const ExportArguments& a) {
  if (a.to != "svg") {
    throw core::BadInput(
        fmt::format("a file of bench becomes svg, not {}; {} is a file", a.to, a.runs.front()));
  }
  if (!a.over.empty()) throw core::BadInput("--over is for runs; leave it out");
  if (a.series.size() > 1) throw core::BadInput("--series takes one of variants, step here");
  BenchChartChoice choice;
  choice.logarithmic = a.logarithmic;
  choice.title = a.title;
  if (!a.series.empty()) choice.series = a.series.front();
  if (!a.precision.empty()) choice.precision = core::parse_precision(a.precision);
  return runs::svg_of(chart_of(read_bench_report(a.runs.front()), choice));
}

std::string picture_of(const std::vector<runs::Run>& list, const ExportArguments& a,
                       const runs::PlotChoice& choice) {
  const runs::Plot plot = runs::plot_of(list, choice);
  return a.to == "png" ? png_of(plot) : runs::svg_of(plot);
}

int write(const ExportArguments& a) {
  check(a, format_named(a.to));
  refuse_repeated("--series", a.series);
  if (is_bench_file(a)) {
    write_output(a.out, bench_picture(a));
    return 0;
  }
  if (!a.precision.empty()) throw core::BadInput("--precision is for files of bench; leave it out");
  const runs::PlotChoice choice{a.series, over_named(a.over), a.logarithmic, a.title};
  if (a.to == "safetensors") {
    const std::filesystem::path run = find_run(a.runs.front(), kRunsFolder);
    const runs::RunFollower follower(run);  // refuses what is no run
    runs::export_weights(runs::find_checkpoint(run, a.checkpoint.empty() ? "last" : a.checkpoint), a.out);
    return 0;
  }
  const std::vector<runs::Run> list = read_runs(a.runs, kRunsFolder);
  if (a.to == "tensorboard") {
    runs::export_tensorboard(list, a.out);
  } else if (a.to == "csv") {
    write_output(a.out, runs::csv_of(list.front().points));
  } else if (a.to == "json") {
    write_output(a.out, runs::json_text(runs::json_of(list.front())));
  } else if (a.to == "trace") {
    write_output(a.out, runs::json_text(runs::trace_of(list.front())));
  } else {
    write_output(a.out, picture_of(list, a, choice));
  }
  return 0;
}

}  // namespace

Run export_runs(CLI::App& app) {
  const auto a = std::make_shared<ExportArguments>();
  app.add_option(
         "run", a->runs,
         "Folder of a run; several for svg, png and tensorboard; or, for svg, a file that bench --json wrote")
      ->type_name("RUN")
      ->required()
      ->expected(1, kMostRuns);
  app.add_option("--to", a->to, "csv, tensorboard, safetensors, svg, png, json or trace")
      ->type_name("FORMAT")
      ->required();
  app.add_option("--out", a->out, "File to write (- for standard output); for tensorboard a folder")
      ->type_name("PATH")
      ->required();
  app.add_option(
         "--series", a->series,
         "svg, png: what to draw (default: the losses); of a file of bench: variants (default) or step")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_option("--over", a->over, "svg, png: step, epoch or seconds (default: step)");
  app.add_flag("--log", a->logarithmic, "svg, png: logarithmic values");
  app.add_option("--title", a->title, "svg, png: title (default: the names of the runs)");
  app.add_option("--precision", a->precision, "svg of a file of bench: which (default: the first in it)");
  app.add_option("--checkpoint", a->checkpoint, "safetensors: best, last or a file (default: last)");
  return [a] { return write(*a); };
}

}  // namespace warpscope::app
