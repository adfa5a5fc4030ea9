// warpscope classify: what the features of a trained network are worth to a classifier.

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/judged.h"
#include "app/options.h"
#include "app/table.h"
#include "app/trained_source.h"
#include "gpu/core/phases.h"
#include "gpu/features/judgement.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"
#include "gpu/files/utf8.h"

namespace warpscope::app {
namespace {

struct ClassifyArguments {
  TrainedArguments trained;
  features::JudgementRequest request;
  bool standardize = true;
  std::string json;  ///< file, "-" for standard output instead of the text, "" for none
};

using features::Judgement;
using Report = JudgedFeatures;
using features::LabelledRows;

LabelledRows rows_of(const TrainedSource& source, const data::ImageSet& set,
                     const classifiers::Watch& watch) {
  LabelledRows rows;
  rows.values = source.features_of(set, watch);
  rows.labels.assign(set.labels.begin(), set.labels.end());
  rows.columns = features::columns_of(source.layers);
  rows.classes = static_cast<int>(source.data->classes.size());
  return rows;
}

std::string percent(double part) {
  return std::isfinite(part) ? fmt::format("{:.2f} %", 100 * part) : "-";
}

void print(const Report& report) {
  const Judgement& found = report.judgement;
  files::print("features     {} of {}: {}, {}, in {:.3f} s on {}, {}\n", report.layers, report.model,
               files::counted(report.columns, "column"), report.standardized ? "standardized" : "as they are",
               report.feature_seconds + report.standardize_seconds, report.device, report.precision);
  files::print("data         {}: {} to learn from, {} to be judged on\n", report.data,
               files::counted(report.training_rows, "row"), report.test_rows);
  const auto& row = classifiers::classifier_named(found.classifier);
  files::print("classifier   {}{}\n", row.title, found.c > 0 ? fmt::format(", C = {:g}", found.c) : "");
  const classifiers::FitSummary& fit = found.fit;
  const std::string reached = fit.tolerance > 0
                                  ? fmt::format(", {} {:.2e} ({} {:g})", fit.rule, fit.reached,
                                                fit.converged ? "within" : "NOT within", fit.tolerance)
                                  : std::string();
  files::print("fitted       in {:.3f} s, {} iterations{}, objective {:.8g}\n", found.fit_seconds,
               fit.iterations, reached, fit.objective);
  for (const classifiers::PhaseTime& phase : found.fit.phases)
    files::print("             {:<24} {:.3f} s\n", phase.phase, phase.seconds);
  files::print("predicted    {} in {:.3f} s\n\n", files::counted(report.test_rows, "row"),
               found.predict_seconds);
  Table table({{"class", Align::left}, {"right"}, {"most often taken for", Align::left}});
  for (int truth = 0; truth < found.test.classes; ++truth) {
    int most = -1;
    for (int label = 0; label < found.test.classes; ++label) {
      if (label != truth &&
          found.test.confused(truth, label) > (most < 0 ? 0 : found.test.confused(truth, most)))
        most = label;
    }
    const auto at = static_cast<std::size_t>(truth);
    table.add({report.classes[at], percent(found.test.class_accuracy[at]),
               most < 0 ? "-"
                        : fmt::format("{} ({})", report.classes[static_cast<std::size_t>(most)],
                                      found.test.confused(truth, most))});
  }
  files::put(table.text() + "\n");
  files::print("accuracy     {}{}\n", percent(found.test.accuracy),
               found.training
                   ? fmt::format(", of the rows it learned from {}", percent(found.training->accuracy))
                   : "");
}

nlohmann::json to_json(const Report& report) {
  const Judgement& found = report.judgement;
  nlohmann::json phases = nlohmann::json::object();
  for (const classifiers::PhaseTime& phase : found.fit.phases) phases[phase.phase] = phase.seconds;
  nlohmann::json confusion = nlohmann::json::array();
  for (int truth = 0; truth < found.test.classes; ++truth) {
    nlohmann::json row = nlohmann::json::array();
    for (int label = 0; label < found.test.classes; ++label) row.push_back(found.test.confused(truth, label));
    confusion.push_back(row);
  }
  nlohmann::json json{{"weights", report.weights},
                      {"model", report.model},
                      {"layers", report.layers},
                      {"columns", report.columns},
                      {"standardized", report.standardized},
                      {"data", report.data},
                      {"device", report.device},
                      {"precision", report.precision},
                      {"training_rows", report.training_rows},
                      {"test_rows", report.test_rows},
                      {"feature_seconds", report.feature_seconds},
                      {"standardize_seconds", report.standardize_seconds},
                      {"classifier", found.classifier},
                      {"C", found.c},
                      {"fit_seconds", found.fit_seconds},
                      {"fit_phases", phases},
                      {"iterations", found.fit.iterations},
                      {"objective", found.fit.objective},
                      {"stopping_rule", found.fit.rule},
                      {"reached", found.fit.reached},
                      {"tolerance", found.fit.tolerance},
                      {"converged", found.fit.converged},
                      {"remarks", found.fit.remarks},
                      {"predict_seconds", found.predict_seconds},
                      {"accuracy", found.test.accuracy},
                      {"classes", files::legible_utf8(report.classes)},
                      {"class_accuracy", found.test.class_accuracy},
                      {"confusion", confusion}};
  if (found.training) json["training_accuracy"] = found.training->accuracy;
  return json;
}

Report describe(const TrainedSource& source, bool standardize) {
  Report report;
  report.weights = source.network.weights.string();
  report.layers = features::to_string(source.layers);
  report.model = source.network.settings.model.name;
  report.data = source.data->name;
  report.device = source.device->info().name;
  report.precision = core::to_string(source.selection.precision);
  report.training_rows = source.data->train.count;
  report.test_rows = source.data->test.count;
  report.columns = features::columns_of(source.layers);
  report.standardized = standardize;
  report.classes = source.data->classes;
  return report;
}

/// Ctrl-C ends a fit in good order.
class InterruptWatch {
 public:
  classifiers::Watch watch() {
    return {[this](double part, std::string_view phase) {
              line_.show(static_cast<int>(1000 * part), 1000, std::string(phase));
            },
            stop_.token()};
  }

 private:
  ProgressLine line_;
  InterruptStop stop_;
};

}  // namespace

std::optional<JudgedFeatures> judge_source(const TrainedSource& source,
                                           const features::JudgementRequest& request, bool standardize) {
  Report report = describe(source, standardize);
  try {
    InterruptWatch interrupts;
    const classifiers::Watch watch = interrupts.watch();
    auto start = core::Clock::now();
    LabelledRows training = rows_of(source, source.data->train, watch);
    LabelledRows test = rows_of(source, source.data->test, watch);
    report.feature_seconds = core::seconds_since(start);
    start = core::Clock::now();
    if (standardize) report.remark = features::standardize(training, test, source.place());
    report.standardize_seconds = core::seconds_since(start);
    report.judgement = features::judge(training, test, request, source.place(), watch);
  } catch (const classifiers::Cancelled&) {
    return std::nullopt;
  }
  return report;
}

int tell(const std::optional<JudgedFeatures>& report, const std::string& json) {
  if (!report) {
    files::warn("interrupted; nothing was judged");
    return 1;
  }
  const classifiers::FitSummary& fit = report->judgement.fit;
  if (!report->remark.empty()) files::warn(report->remark);
  for (const std::string& remark : fit.remarks) files::warn(remark);
  if (json != "-") print(*report);
  if (!json.empty())
    write_output(json, to_json(*report).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return fit.converged ? 0 : 1;
}

Run classify(CLI::App& app) {
  const auto a = std::make_shared<ClassifyArguments>();
  add_trained_options(app, a->trained);
  std::vector<std::string> names;
  for (const auto& row : classifiers::classifier_table())
    names.push_back(fmt::format("{} ({})", row.name, row.title));
  classifiers::ClassifierSettings& settings = a->request.settings;
  app.add_option("--classifier", a->request.classifier, fmt::format("{}", fmt::join(names, ", ")))
      ->capture_default_str();
  app.add_option("--C,-C", settings.c, "Weight of the errors (default: rbf 10, the others as suits them)")
      ->check(refuse_not_positive);
  app.add_option("--gamma", settings.gamma, "rbf: scale, auto or a number")->capture_default_str();
  app.add_option("--tolerance", settings.tolerance, "Tolerance of the stopping rule")
      ->capture_default_str()
      ->check(refuse_not_positive);
  app.add_option("--neighbours", settings.neighbours, "nearest: how many vote, 1 to 64")
      ->capture_default_str();
  app.add_option("--epochs", settings.epochs, "head: passes over the training rows")->capture_default_str();
  app.add_flag("--probabilities", settings.probabilities, "rbf: fit Platt's sigmoids too");
  app.add_option("--class-weights", settings.class_weights, "rbf: a factor of C for each class")
      ->type_name("W,...")
      ->delimiter(',');
  app.add_option("--memory-limit", settings.memory_limit, "rbf: most bytes of device memory")
      ->type_name("BYTES");
  app.add_flag("!--no-standardize", a->standardize, "Leave the columns as they are");
  app.add_flag("--training-accuracy", a->request.on_training_rows,
               "Judge it on the rows that it learned from too");
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  return [a] {
    classifiers::classifier_named(a->request.classifier);
    check_output_file("--json", a->json);
    const TrainedSource source = open_trained(a->trained);
    return told_of_weights(source.network,
                           [&] { return tell(judge_source(source, a->request, a->standardize), a->json); });
  };
}

}  // namespace warpscope::app
