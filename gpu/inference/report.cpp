#include "gpu/inference/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/files/utf8.h"

namespace warpscope::inference {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kGuesses> kRanks{"class", "second", "third"};

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

/// JSON has no numbers that are not finite.
json number_json(double value) {
  return std::isfinite(value) ? json(value) : json();
}

json times_json(const RankTimes& times) {
  json told;
  for (const RankPart& part : kRankParts)
    told[std::string(part.key)] = kMillisecondsPerSecond * (times.*part.time);
  return told;
}

json rank_json(const RankShare& rank, const Outcome& outcome) {
  json layers = json::array();
  for (std::size_t i = 0; i < std::min(rank.layers.size(), outcome.layers.size()); ++i) {
    if (!outcome.layers[i].inside.empty()) continue;
    layers.push_back({{"layer", outcome.layers[i].layer}, {"median", rank.layers[i]}});
  }
  return {{"device", rank.device},
          {"images", rank.images},
          {"seconds", rank.seconds},
          {"images_per_second", rank.images_per_second()},
          {"milliseconds", times_json(rank.times)},
          {"layers", std::move(layers)}};
}

/// What the rows of an outcome have.
struct Cells {
  explicit Cells(const Outcome& outcome) {
    if (outcome.answers.empty()) return;
    const Answer& first = outcome.answers.front();
    files = !first.image.file.empty();
    lines = first.image.line > 0;
    texts =
        std::ranges::any_of(outcome.answers, [](const Answer& answer) { return !answer.image.text.empty(); });
    labels =
        std::ranges::any_of(outcome.answers, [](const Answer& answer) { return answer.image.label >= 0; });
    guesses = outcome.guesses;
  }
  bool files = false;
  bool lines = false;
  bool texts = false;
  bool labels = false;
  std::size_t guesses = 0;
};

std::string title_line(const Cells& cells) {
  std::string line = cells.files ? "file" : "index";
  if (cells.lines) line += ",line";
  if (cells.texts) line += ",text";
  if (cells.labels && cells.guesses > 0) line += ",label";
  for (std::size_t i = 0; i < cells.guesses; ++i) {
    line += fmt::format(",{},{}{}", kRanks[i], i == 0 ? "" : fmt::format("{}_", kRanks[i]), "probability");
  }
  return line + (cells.guesses == 0 ? ",mse,psnr\n" : "\n");
}

json latency_json(const Latency& latency) {
  return {{"median", latency.median}, {"p99", latency.p99}};
}

json answer_json(const Subject& subject, const Answer& answer, bool classifies) {
  json row = json::object();
  if (answer.image.file.empty()) {
    row["index"] = answer.image.index;
  } else {
    row["file"] = answer.image.file;
  }
  if (answer.image.line > 0) row["line"] = answer.image.line;
  if (!answer.image.text.empty()) row["text"] = files::valid_utf8(answer.image.text);
  if (!classifies) {
    row["mse"] = number_json(answer.mse);
    row["psnr"] = number_json(answer.psnr);
    return row;
  }
  if (answer.image.label >= 0) row["label"] = class_name(subject, answer.image.label);
  json guesses = json::array();
  for (const Guess& guess : answer.guesses) {
    guesses.push_back(
        {{"class", class_name(subject, guess.label)}, {"probability", number_json(guess.probability)}});
  }
  row["class"] = guesses.empty() ? json() : guesses[0]["class"];
  row["probability"] = guesses.empty() ? json() : guesses[0]["probability"];
  row["guesses"] = std::move(guesses);
  return row;
}

}  // namespace

RowFormat row_format(std::string_view name, std::string_view file) {
  std::string ending = std::filesystem::path(file).extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  const std::string wanted = !name.empty() ? std::string(name) : file == "-" ? "csv" : ending;
  if (wanted == "csv") return RowFormat::csv;
  if (wanted == "json") return RowFormat::json;
  if (wanted.empty()) {
    throw core::BadInput(
        fmt::format("the name {} does not tell a format; give --format, valid: csv, json", file));
  }
  throw core::BadInput(fmt::format("there is no format '{}' of answers; valid: csv, json", wanted));
}

std::string class_name(const Subject& subject, int label) {
  const auto at = static_cast<std::size_t>(label);
  return at < subject.classes.size() ? files::legible_utf8(subject.classes[at]) : std::to_string(label);
}

std::string csv_of(const Subject& subject, const Outcome& outcome) {
  const Cells cells(outcome);
  std::string text = title_line(cells);
  for (const Answer& answer : outcome.answers) {
    text += cells.files ? runs::csv_cell(answer.image.file) : std::to_string(answer.image.index);
    if (cells.lines) text += fmt::format(",{}", answer.image.line);
    if (cells.texts) text += fmt::format(",{}", runs::csv_cell(files::valid_utf8(answer.image.text)));
    if (cells.labels && cells.guesses > 0) {
      const bool known = answer.image.label >= 0;
      text +=
          fmt::format(",{}", known ? runs::csv_cell(class_name(subject, answer.image.label)) : std::string());
    }
    for (const Guess& guess : answer.guesses) {
      text += fmt::format(",{},{}", runs::csv_cell(class_name(subject, guess.label)),
                          number_text(guess.probability));
    }
    for (std::size_t i = answer.guesses.size(); i < cells.guesses; ++i) text += ",,";
    if (cells.guesses == 0) text += fmt::format(",{},{}", number_text(answer.mse), number_text(answer.psnr));
    text += '\n';
  }
  return text;
}

json figures_of(const Subject& subject, const Outcome& outcome) {
  json layers = json::array();
  for (const LayerLatency& layer : outcome.layers) {
    json row{{"layer", layer.layer}};
    if (layer.inside.empty()) {
      row.update(latency_json(layer.time));
    } else {
      row["inside"] = layer.inside;
    }
    layers.push_back(std::move(row));
  }
  json figures{{"weights", subject.weights},
               {"model", subject.model},
               {"data", subject.data},
               {"device", subject.device},
               {"precision", subject.precision},
               {"images", outcome.answers.size()},
               {"not_finite", outcome.not_finite},
               {"mirrored", outcome.views.mirrored},
               {"shift", outcome.views.shift},
               {"batch", outcome.batch},
               {"batches", outcome.batches},
               {"seconds", outcome.seconds},
               {"images_per_second", outcome.images_per_second()},
               {"device_images_per_second", outcome.device_images_per_second()},
               {"network_images_per_second", outcome.network_images_per_second()},
               {"interrupted", outcome.interrupted},
               {"refused", outcome.refused},
               {"microseconds",
                {{"read", latency_json(outcome.read)},
                 {"to_device", latency_json(outcome.to_device)},
                 {"network", latency_json(outcome.network)},
                 {"layers", std::move(layers)},
                 {"back", latency_json(outcome.back)},
                 {"total", latency_json(outcome.total)}}}};
  for (const RankShare& rank : outcome.ranks) figures["ranks"].push_back(rank_json(rank, outcome));
  if (outcome.ranks.empty()) figures["milliseconds"] = times_json(outcome.times);
  if (outcome.accuracy) figures["accuracy"] = *outcome.accuracy;
  if (outcome.mse) figures["mse"] = number_json(*outcome.mse);
  if (outcome.psnr) figures["psnr"] = number_json(*outcome.psnr);
  return figures;
}

json answers_of(const Subject& subject, const Outcome& outcome) {
  json all = figures_of(subject, outcome);
  json answers = json::array();
  for (const Answer& answer : outcome.answers)
    answers.push_back(answer_json(subject, answer, outcome.guesses > 0));
  all["answers"] = std::move(answers);
  return all;
}

std::string text_of(const Subject& subject, const Outcome& outcome, RowFormat format) {
  return format == RowFormat::csv ? csv_of(subject, outcome) : runs::json_text(answers_of(subject, outcome));
}

}  // namespace warpscope::inference
